#include "core/program/emitter.h"

#include <utility>

namespace lathe {

void Emitter::begin(SequenceId sequence) {
  sequence_ = sequence;
  layer_ = kNone;
  phase_ = Phase::Forward;
}

TensorId Emitter::tensor(std::string name, DType dtype, Shape shape, Role role, Lifetime lifetime) {
  Buffer buffer;
  buffer.name = name;
  buffer.bytes = shape.elements() * dtype_bytes(dtype);
  buffer.role = role;
  buffer.lifetime = lifetime;
  buffer.layer = layer_;
  if (lifetime == Lifetime::Sequence) buffer.sequence = static_cast<int>(sequence_);
  program_.buffers.push_back(std::move(buffer));

  Tensor tensor;
  tensor.name = std::move(name);
  tensor.buffer = static_cast<BufferId>(program_.buffers.size() - 1);
  tensor.dtype = dtype;
  tensor.shape = shape;
  int64_t stride = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    tensor.strides[static_cast<size_t>(i)] = stride;
    stride *= shape[i];
  }
  program_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(program_.tensors.size() - 1);
}

TensorId Emitter::view(TensorId base, std::string name, int64_t offset, Shape shape,
                       std::array<int64_t, 4> strides) {
  Tensor tensor = program_.tensor(base);
  tensor.name = std::move(name);
  tensor.offset_bytes += offset * dtype_bytes(tensor.dtype);
  tensor.shape = shape;
  tensor.strides = strides;
  program_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(program_.tensors.size() - 1);
}

TensorId Emitter::slice(TensorId base, std::string name, int64_t offset, Shape shape) {
  std::array<int64_t, 4> strides{1, 1, 1, 1};
  int64_t stride = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = stride;
    stride *= shape[i];
  }
  return view(base, std::move(name), offset, shape, strides);
}

int Emitter::emit(OpKind kind, std::initializer_list<Operand> operands, const OpAttributes& attributes,
                  int source) {
  Op op;
  op.kind = kind;
  op.operands = operands;
  op.attributes = attributes;
  op.layer = layer_;
  op.phase = phase_;
  op.source = source;
  if (const int64_t bytes = workspace_bytes(target_, program_, op); bytes > 0) {
    op.operands.push_back({tensor("workspace", DType::U8, {bytes}, Role::Scratch), Access::Scratch});
  }
  auto& ops = program_.sequence(sequence_).ops;
  ops.push_back(std::move(op));
  return static_cast<int>(ops.size()) - 1;
}

}  // namespace lathe
