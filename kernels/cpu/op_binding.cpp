#include "kernels/cpu/op_binding.h"

#include "kernels/api/error.h"

namespace lathe::cpu {

const Tensor& OpBinding::tensor(int slot) const {
  if (!has(slot)) refuse(nullptr, "operand " + std::to_string(slot) + " is missing");
  return program_.tensor(op_.tensor(slot));
}

void OpBinding::require(bool condition, int slot, const std::string& problem) const {
  if (!condition) refuse(&tensor(slot), problem);
}

const Tensor& OpBinding::typed(int slot, DType dtype) const {
  const Tensor& found = tensor(slot);
  if (found.dtype != dtype) refuse(&found, "must be " + std::string(dtype_name(dtype)));
  if (found.shape.rank < 1) refuse(&found, "has no dimension");
  return found;
}

void* OpBinding::dense_address(int slot, DType dtype) const {
  const Tensor& found = typed(slot, dtype);
  if (!found.contiguous()) refuse(&found, "must be contiguous");
  return address(found);
}

void* OpBinding::address(const Tensor& tensor) const {
  const int64_t offset = plan_.offsets[static_cast<size_t>(tensor.buffer)] + tensor.offset_bytes;
  return reinterpret_cast<void*>(arena_ + static_cast<uintptr_t>(offset));
}

OpBinding::Folded OpBinding::fold(const Tensor& tensor, int inner) const {
  const int outer = tensor.shape.rank - inner;
  if (outer < 0) refuse(&tensor, "has too few dimensions");
  if (tensor.strides[static_cast<size_t>(tensor.shape.rank - 1)] != 1 &&
      tensor.shape[tensor.shape.rank - 1] != 1) {
    refuse(&tensor, "must be adjacent along its last dimension");
  }
  Folded folded{1, 0};
  for (int i = outer - 1; i >= 0; --i) {
    const int64_t size = tensor.shape[i], stride = tensor.strides[static_cast<size_t>(i)];
    if (size == 1) continue;
    if (folded.count == 1) {
      folded.stride = stride;
    } else if (inner < 3 && stride != folded.stride * folded.count) {
      refuse(&tensor, "must have evenly spaced rows");
    }
    folded.count *= size;
  }
  // One row: any stride will do, but BLAS wants at least the row's width.
  if (folded.stride == 0) folded.stride = tensor.shape[tensor.shape.rank - 1];
  return folded;
}

void OpBinding::refuse(const Tensor* tensor, const std::string& problem) const {
  std::string text = "The CPU backend can't run " + describe(op_) + ": ";
  if (tensor) text += tensor->name + " (" + std::string(dtype_name(tensor->dtype)) + ") ";
  throw Error(ErrorCode::Unsupported, text + problem + ".");
}

}  // namespace lathe::cpu
