// Appends buffers, tensors and ops to a step program. Knows layout and bookkeeping, nothing of the model.
#pragma once

#include <initializer_list>
#include <string>

#include "kernels/api/program.h"
#include "kernels/api/target.h"

namespace lathe {

class Emitter {
 public:
  Emitter(StepProgram& program, const ExecutionTarget& target) : program_(program), target_(target) {}

  // The following buffers with Lifetime::Sequence and all ops belong to this sequence.
  void begin(SequenceId sequence);

  void set_layer(int layer) { layer_ = layer; }
  void set_phase(Phase phase) { phase_ = phase; }
  Phase phase() const { return phase_; }

  // A tensor in a buffer of its own.
  TensorId tensor(std::string name, DType dtype, Shape shape, Role role,
                  Lifetime lifetime = Lifetime::Sequence);

  // A part of a tensor: `offset` in elements from its first, strides in elements.
  TensorId view(TensorId base, std::string name, int64_t offset, Shape shape, std::array<int64_t, 4> strides);

  // A contiguous part of a contiguous tensor.
  TensorId slice(TensorId base, std::string name, int64_t offset, Shape shape);

  // Appends an op with a planned workspace where the target wants one. Returns its index in the sequence.
  int emit(OpKind kind, std::initializer_list<Operand> operands, const OpAttributes& attributes = {},
           int source = kNone);

  StepProgram& program() { return program_; }

 private:
  StepProgram& program_;
  ExecutionTarget target_;
  SequenceId sequence_ = SequenceId::MicroFirst;
  int layer_ = kNone;
  Phase phase_ = Phase::Forward;
};

// Operands by mode, so that emission reads like the contract in op.h.
inline Operand read(TensorId tensor) {
  return {tensor, Access::Read};
}
inline Operand write(TensorId tensor) {
  return {tensor, Access::Write};
}
inline Operand add(TensorId tensor) {
  return {tensor, Access::Accumulate};
}
inline Operand in_place(TensorId tensor) {
  return {tensor, Access::InPlace};
}
inline Operand absent() {
  return {kNone, Access::Read};
}

}  // namespace lathe
