// How reference ops see their operands: inputs as they were before the op, outputs written or added to.
#pragma once

#include <limits>

#include "tests/parity/op_case.h"

namespace lathe::test {

class ReferenceFrame {
 public:
  ReferenceFrame(const StepProgram& program, const Op& op, Values& values)
      : program_(program), op_(op), before_(values), values_(values) {
    for (const Operand& operand : op.operands) {
      if (operand.tensor == kNone || !values[index(operand.tensor)].empty()) continue;
      values[index(operand.tensor)].assign(static_cast<size_t>(program.tensor(operand.tensor).elements()),
                                           std::numeric_limits<double>::quiet_NaN());
    }
  }

  const StepProgram& program() const { return program_; }
  const OpAttributes& attributes() const { return op_.attributes; }
  bool has(int slot) const { return op_.tensor(slot) != kNone; }
  Access access(int slot) const { return op_.access(slot); }
  const Tensor& tensor(int slot) const { return program_.tensor(op_.tensor(slot)); }
  int64_t dim(int slot, int i) const { return tensor(slot).shape[i]; }
  int64_t last(int slot) const { return dim(slot, tensor(slot).shape.rank - 1); }
  int64_t elements(int slot) const { return tensor(slot).elements(); }

  double in(int slot, int64_t i) const { return before_[index(op_.tensor(slot))][static_cast<size_t>(i)]; }
  int64_t integer(int slot, int64_t i) const { return static_cast<int64_t>(in(slot, i)); }

  // Overwrites, or adds to what was there before for Access::Accumulate. An absent output swallows it.
  void put(int slot, int64_t i, double value) {
    if (!has(slot)) return;
    set(slot, i, access(slot) == Access::Accumulate ? in(slot, i) + value : value);
  }
  void set(int slot, int64_t i, double value) {
    values_[index(op_.tensor(slot))][static_cast<size_t>(i)] = value;
  }

 private:
  static size_t index(TensorId id) { return static_cast<size_t>(id); }

  const StepProgram& program_;
  const Op& op_;
  Values before_;
  Values& values_;
};

void reference_attention(ReferenceFrame& f);
void reference_attention_backward(ReferenceFrame& f);
void reference_attention_decode(ReferenceFrame& f);
void reference_adamw(ReferenceFrame& f);

}  // namespace lathe::test
