#include "tests/support/op_program.h"

#include <numeric>

namespace lathe::test {

namespace {

int64_t aligned(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

std::array<int64_t, 4> dense_strides(const Shape& shape) {
  std::array<int64_t, 4> strides{1, 1, 1, 1};
  for (int i = shape.rank - 2; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = strides[static_cast<size_t>(i + 1)] * shape[i + 1];
  }
  return strides;
}

}  // namespace

OpProgram::OpProgram(OpKind kind) {
  Op op;
  op.kind = kind;
  program.sequence(kSequence).ops.push_back(op);
}

BufferId OpProgram::add_buffer(int64_t bytes) {
  const auto id = static_cast<BufferId>(program.buffers.size());
  Buffer buffer;
  buffer.name = "buffer" + std::to_string(id);
  buffer.bytes = 2 * kGuardBytes + aligned(bytes);
  buffer.lifetime = Lifetime::Run;
  program.buffers.push_back(buffer);

  Tensor image;
  image.name = buffer.name + ".image";
  image.buffer = id;
  image.dtype = DType::U8;
  image.shape = Shape{buffer.bytes};
  images_.push_back(static_cast<TensorId>(program.tensors.size()));
  program.tensors.push_back(image);
  return id;
}

TensorId OpProgram::add_tensor(DType dtype, const Shape& shape) {
  return add_view(add_buffer(shape.elements() * dtype_bytes(dtype)), dtype, shape, dense_strides(shape), 0);
}

TensorId OpProgram::add_view(BufferId buffer, DType dtype, const Shape& shape,
                             const std::array<int64_t, 4>& strides, int64_t offset) {
  const auto id = static_cast<TensorId>(program.tensors.size());
  Tensor tensor;
  tensor.name = "tensor" + std::to_string(id);
  tensor.buffer = buffer;
  tensor.offset_bytes = kGuardBytes + offset * dtype_bytes(dtype);
  tensor.dtype = dtype;
  tensor.shape = shape;
  tensor.strides = strides;
  program.tensors.push_back(tensor);
  return id;
}

std::vector<TensorId> OpProgram::add_head_views(DType dtype, const std::vector<int64_t>& leading,
                                                const std::vector<int64_t>& heads, int64_t dim) {
  const int64_t row = (std::accumulate(heads.begin(), heads.end(), int64_t{0}) + 1) * dim;
  Shape shape;
  shape.rank = static_cast<int>(leading.size()) + 2;
  std::array<int64_t, 4> strides{1, 1, 1, 1};
  int64_t rows = 1;
  for (size_t i = leading.size(); i-- > 0;) {
    shape.dims[i] = leading[i];
    strides[i] = rows * row;
    rows *= leading[i];
  }
  strides[leading.size()] = dim;
  shape.dims[leading.size() + 1] = dim;
  const BufferId buffer = add_buffer(rows * row * dtype_bytes(dtype));
  std::vector<TensorId> views;
  int64_t offset = 0;
  for (const int64_t count : heads) {
    shape.dims[leading.size()] = count;
    views.push_back(add_view(buffer, dtype, shape, strides, offset));
    offset += count * dim;
  }
  return views;
}

void OpProgram::add_workspace(const ExecutionTarget& target) {
  const int64_t bytes = workspace_bytes(target, program, op());
  if (bytes > 0) add_operand(add_tensor(DType::U8, Shape{bytes}), Access::Scratch);
}

MemoryPlan OpProgram::plan() const {
  MemoryPlan plan;
  for (const Buffer& buffer : program.buffers) {
    plan.offsets.push_back(plan.arena_bytes);
    plan.arena_bytes += buffer.bytes;
  }
  plan.persistent_bytes = plan.arena_bytes;
  return plan;
}

}  // namespace lathe::test
