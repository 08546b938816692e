#include "tests/parity/op_case.h"

#include <utility>

namespace lathe::test {

namespace {

// The same on every platform, unlike std::hash.
uint64_t seed_of(const std::string& text) {
  uint64_t seed = 0xcbf29ce484222325u;
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return seed;
}

std::string case_name(OpKind kind, DType dtype, const std::string& shape) {
  std::string name(op_kind_name(kind));
  return name.append(" ").append(dtype_name(dtype)).append(" ").append(shape);
}

}  // namespace

CaseBuilder::CaseBuilder(OpKind kind, DType dtype, const std::string& shape)
    : random(seed_of(case_name(kind, dtype, shape))),
      case_{case_name(kind, dtype, shape), dtype, OpProgram(kind), {}, false, false} {}

CaseBuilder& CaseBuilder::operand(TensorId tensor, Access access, std::vector<double> values) {
  case_.op.add_operand(tensor, access);
  case_.inputs.resize(case_.op.program.tensors.size());
  case_.inputs[static_cast<size_t>(tensor)] =
      rounded(std::move(values), case_.op.program.tensor(tensor).dtype);
  return *this;
}

CaseBuilder& CaseBuilder::out_or_add(DType dtype, const Shape& shape, bool accumulate) {
  if (!accumulate) return out(dtype, shape);
  return operand(case_.op.add_tensor(dtype, shape), Access::Accumulate, random.normal(shape.elements()));
}

CaseBuilder& CaseBuilder::absent() {
  case_.op.add_operand(kNone, Access::Read);
  return *this;
}

CaseBuilder& CaseBuilder::note(const std::string& text) {
  case_.name.append(" ").append(text);
  return *this;
}

CaseBuilder& CaseBuilder::odd(bool value) {
  case_.odd = value;
  return *this;
}

CaseBuilder& CaseBuilder::document_mask() {
  case_.document_mask = true;
  return *this;
}

std::string by(std::initializer_list<int64_t> dims) {
  std::string text;
  for (const int64_t dim : dims) text.append(text.empty() ? "" : "x").append(std::to_string(dim));
  return text;
}

std::vector<DType> gradient_dtypes(DType dtype) {
  if (dtype == DType::F64) return {DType::F64};
  return {DType::F32, DType::BF16};
}

std::vector<double> rounded(std::vector<double> values, DType dtype) {
  std::byte element[8];
  for (double& value : values) {
    store_element(element, dtype, value);
    value = load_element(element, dtype);
  }
  return values;
}

}  // namespace lathe::test
