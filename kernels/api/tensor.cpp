#include "kernels/api/tensor.h"

#include <algorithm>

namespace lathe {

int64_t dtype_bytes(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return 8;
    case DType::F32:
    case DType::I32:
      return 4;
    case DType::BF16:
    case DType::I16:
      return 2;
    case DType::U8:
      return 1;
  }
  return 0;
}

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return "fp64";
    case DType::F32:
      return "fp32";
    case DType::BF16:
      return "bf16";
    case DType::I32:
      return "int32";
    case DType::I16:
      return "int16";
    case DType::U8:
      return "uint8";
  }
  return "?";
}

std::string_view role_name(Role role) {
  switch (role) {
    case Role::Weight:
      return "weights";
    case Role::Master:
      return "master weights";
    case Role::Gradient:
      return "gradients";
    case Role::OptimizerState:
      return "optimizer states";
    case Role::Activation:
      return "activations";
    case Role::Scratch:
      return "scratch";
    case Role::Logits:
      return "logits";
    case Role::Batch:
      return "batch";
    case Role::Metric:
      return "metrics";
    case Role::KvCache:
      return "KV cache";
    case Role::Table:
      return "tables";
  }
  return "?";
}

Shape::Shape(std::initializer_list<int64_t> values) : rank(static_cast<int>(values.size())) {
  std::copy(values.begin(), values.end(), dims.begin());
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (int i = 0; i < rank; ++i) product *= dims[static_cast<size_t>(i)];
  return product;
}

bool Tensor::contiguous() const {
  int64_t expected = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[static_cast<size_t>(i)] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

}  // namespace lathe
