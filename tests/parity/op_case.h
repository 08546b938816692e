// One op with inputs, to be run by a backend and by the reference; and the list of cases every backend must
// pass.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/elements.h"
#include "tests/support/op_program.h"

namespace lathe::test {

// Values of every tensor in logical (row-major) order, by TensorId; empty where a tensor has none yet.
using Values = std::vector<std::vector<double>>;

struct OpCase {
  std::string name;  // "linear bf16 33x40x72 residual"
  DType dtype = DType::F32;
  OpProgram op;
  Values inputs;
  bool odd = false;  // some width isn't a multiple of 8 elements
  bool document_mask = false;
};

// Every op kind, at least four shapes each, odd ones and views among them, with all combinations of optional
// operands and access modes. `dtype` is the program's: F32, BF16 or F64. The same list each time; seeds are
// fixed.
std::vector<OpCase> parity_cases(DType dtype);

// Builds a case operand by operand, in slot order.
class CaseBuilder {
 public:
  CaseBuilder(OpKind kind, DType dtype, const std::string& shape);

  RandomValues random;
  DType dtype() const { return case_.dtype; }
  DType wide() const { return case_.dtype == DType::F64 ? DType::F64 : DType::F32; }
  OpProgram& program() { return case_.op; }
  OpAttributes& attributes() { return case_.op.op().attributes; }

  // Adds the tensor as the next operand. `values` are what it holds before the run: always for what is read;
  // an Access::Write operand without values starts as NaN.
  CaseBuilder& operand(TensorId tensor, Access access, std::vector<double> values = {});
  CaseBuilder& in(DType dtype, const Shape& shape, std::vector<double> values) {
    return operand(case_.op.add_tensor(dtype, shape), Access::Read, std::move(values));
  }
  CaseBuilder& out(DType dtype, const Shape& shape) {
    return operand(case_.op.add_tensor(dtype, shape), Access::Write);
  }
  // Access::Write when `accumulate` is false.
  CaseBuilder& out_or_add(DType dtype, const Shape& shape, bool accumulate);
  CaseBuilder& absent();
  CaseBuilder& note(const std::string& text);  // appended to the name
  CaseBuilder& odd(bool value = true);
  CaseBuilder& document_mask();

  OpCase finish() { return std::move(case_); }

 private:
  OpCase case_;
};

// "33x256"
std::string by(std::initializer_list<int64_t> dims);

// What gradients may be stored as in a program of this dtype.
std::vector<DType> gradient_dtypes(DType dtype);

// Values as they are after being stored with the dtype.
std::vector<double> rounded(std::vector<double> values, DType dtype);

}  // namespace lathe::test
