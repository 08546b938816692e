// Resolves one op's operands to typed pointers into the arena, once, and refuses what the kernels can't read.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "kernels/api/numerics.h"
#include "kernels/api/program.h"
#include "kernels/cpu/element.h"

namespace lathe::cpu {

// [rows, cols]; the columns are adjacent, rows `stride` elements apart. Leading dimensions are folded into
// rows.
template <class T>
struct Rows {
  T* data = nullptr;
  int64_t count = 0, cols = 0, stride = 0;

  T* row(int64_t r) const { return data + r * stride; }
};

// [rows, heads, dim], a view into rows of something wider.
template <class T>
struct Heads {
  T* data = nullptr;
  int64_t rows = 0, heads = 0, dim = 0;
  int64_t row_stride = 0, head_stride = 0;

  T* at(int64_t row, int64_t head) const { return data + row * row_stride + head * head_stride; }
};

// [batch, context, heads, dim], a view.
template <class T>
struct Sequences {
  T* data = nullptr;
  int64_t batch = 0, context = 0, heads = 0, dim = 0;
  int64_t batch_stride = 0, row_stride = 0, head_stride = 0;

  // The first row of one head; the next rows follow at row_stride.
  T* head(int64_t b, int64_t h) const { return data + b * batch_stride + h * head_stride; }
};

class OpBinding {
 public:
  // `arena` is the address that the plan's offsets count from; nothing is dereferenced while binding.
  OpBinding(const StepProgram& program, const MemoryPlan& plan, const Op& op, uintptr_t arena)
      : program_(program), plan_(plan), op_(op), arena_(arena) {}

  const StepProgram& program() const { return program_; }
  const OpAttributes& attributes() const { return op_.attributes; }
  bool has(int slot) const { return op_.tensor(slot) != kNone; }
  bool accumulates(int slot) const { return op_.access(slot) == Access::Accumulate; }
  bool in_place(int slot) const { return op_.access(slot) == Access::InPlace; }
  const Tensor& tensor(int slot) const;  // throws when the operand is absent
  DType dtype(int slot) const { return tensor(slot).dtype; }

  // All below throw Error Unsupported, naming op and tensor, when dtype or layout isn't what they return. The
  // optional_ forms give null data for an absent operand.
  template <class T>
  T* dense(int slot) const {  // a contiguous tensor
    return static_cast<T*>(dense_address(slot, kDTypeOf<T>));
  }
  template <class T>
  T* optional_dense(int slot) const {
    return has(slot) ? dense<T>(slot) : nullptr;
  }
  template <class T>
  Rows<T> rows(int slot) const {
    const Tensor& t = typed(slot, kDTypeOf<T>);
    const Folded f = fold(t, 1);
    return {static_cast<T*>(address(t)), f.count, t.shape[t.shape.rank - 1], f.stride};
  }
  template <class T>
  Rows<T> optional_rows(int slot) const {
    return has(slot) ? rows<T>(slot) : Rows<T>{};
  }
  template <class T>
  Heads<T> heads(int slot) const {
    const Tensor& t = typed(slot, kDTypeOf<T>);
    const Folded f = fold(t, 2);
    const int rank = t.shape.rank;
    return {static_cast<T*>(address(t)), f.count,  t.shape[rank - 2],
            t.shape[rank - 1],           f.stride, t.strides[static_cast<size_t>(rank - 2)]};
  }
  template <class T>
  Sequences<T> sequences(int slot) const {
    const Tensor& t = typed(slot, kDTypeOf<T>);
    require(t.shape.rank == 4, slot, "must be [batch, context, heads, head_dim]");
    fold(t, 3);
    return {static_cast<T*>(address(t)),
            t.shape[0],
            t.shape[1],
            t.shape[2],
            t.shape[3],
            t.strides[0],
            t.strides[1],
            t.strides[2]};
  }

  // Throws Error Unsupported: "layer 3 attention: operand layer.3.attn.q (bf16) <problem>".
  void require(bool condition, int slot, const std::string& problem) const;

 private:
  struct Folded {
    int64_t count, stride;
  };
  const Tensor& typed(int slot, DType dtype) const;
  void* dense_address(int slot, DType dtype) const;
  void* address(const Tensor& tensor) const;
  // Folds all but the last `inner` dimensions into one; the last dimension must be adjacent.
  Folded fold(const Tensor& tensor, int inner) const;
  [[noreturn]] void refuse(const Tensor* tensor, const std::string& problem) const;

  const StepProgram& program_;
  const MemoryPlan& plan_;
  const Op& op_;
  uintptr_t arena_;
};

// Calls make.template operator()<S>() with the storage type of the operand: float, Bf16 or double.
template <class Make>
auto with_storage(const OpBinding& binding, int slot, const Make& make) {
  const DType dtype = binding.dtype(slot);
  binding.require(dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F64, slot,
                  "must be fp32, bf16 or fp64");
  if (dtype == DType::F64) return make.template operator()<double>();
  if (dtype == DType::BF16) return make.template operator()<Bf16>();
  return make.template operator()<float>();
}

// Calls make.template operator()<G>() with the type of a gradient or weight that goes with storage S: in FP64
// programs FP64, else FP32 or BF16.
template <class S, class Make>
auto with_gradient(const OpBinding& binding, int slot, const Make& make) {
  if constexpr (std::is_same_v<S, double>) {
    return make.template operator()<double>();
  } else {
    const DType dtype = binding.dtype(slot);
    binding.require(dtype == DType::F32 || dtype == DType::BF16, slot, "must be fp32 or bf16");
    if (dtype == DType::BF16) return make.template operator()<Bf16>();
    return make.template operator()<float>();
  }
}

}  // namespace lathe::cpu
