#include "kernels/cuda/binding.h"

#include "kernels/api/error.h"

namespace lathe::cuda {

void* Binding::address(int slot) const {
  const TensorId id = op_.tensor(slot);
  if (id == kNone) return nullptr;
  const Tensor& view = program_.tensor(id);
  return arena_ + plan_.offsets[static_cast<size_t>(view.buffer)] + view.offset_bytes;
}

int64_t Binding::row_stride(int slot, int inner) const {
  const Tensor& view = tensor(slot);
  const int rank = view.shape.rank;
  int64_t expected = 1;
  bool regular = rank >= inner;
  for (int i = rank - 1; i >= rank - inner && regular; --i) {
    regular = view.shape[i] == 1 || view.strides[static_cast<size_t>(i)] == expected;
    expected *= view.shape[i];
  }
  // The innermost row dimension sets the distance; the ones outside must continue it.
  int64_t stride = expected;
  int64_t next = -1;
  for (int i = rank - inner - 1; i >= 0 && regular; --i) {
    if (view.shape[i] == 1) continue;
    const int64_t actual = view.strides[static_cast<size_t>(i)];
    if (next < 0) {
      stride = actual;
    } else {
      regular = actual == next;
    }
    next = actual * view.shape[i];
  }
  if (!regular)
    throw Error(ErrorCode::Internal,
                describe(op_) + ": tensor " + view.name + " has strides this kernel can't walk.");
  return stride;
}

int64_t Binding::rows(int slot, int inner) const {
  const Shape& dims = shape(slot);
  int64_t product = 1;
  for (int i = 0; i < dims.rank - inner; ++i) product *= dims[i];
  return product;
}

bool Binding::vectorised(std::initializer_list<int> slots, int inner) const {
  for (const int slot : slots) {
    if (!has(slot)) continue;
    const Tensor& view = tensor(slot);
    const int64_t per_vector = 16 / dtype_bytes(view.dtype);
    if (view.shape[view.shape.rank - 1] % per_vector != 0 || row_stride(slot, inner) % per_vector != 0 ||
        reinterpret_cast<uintptr_t>(address(slot)) % 16 != 0)
      return false;
  }
  return true;
}

int64_t Binding::workspace_bytes() const {
  const TensorId id = op_.tensor(slot_count(op_.kind));
  return id == kNone ? 0 : program_.tensor(id).bytes();
}

void Binding::need_workspace(int64_t bytes) const {
  if (workspace_bytes() >= bytes) return;
  throw Error(ErrorCode::Internal, describe(op_) + " needs a workspace of " + std::to_string(bytes) +
                                       " bytes; " + std::to_string(workspace_bytes()) + " were planned.");
}

}  // namespace lathe::cuda
