// Matrix products through cuBLASLt: which algorithm, found by timing at preparation, and how to launch it.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <string>

#include "kernels/api/tensor.h"
#include "kernels/cuda/binding.h"
#include "kernels/cuda/check.h"
#include "kernels/cuda/kernel_selection.h"

namespace lathe::cuda {

// D = op(A) · op(B) + beta · C in column-major terms, as cuBLASLt sees it: op(A) [m,k], op(B) [k,n], C and D
// [m,n].
struct GemmProblem {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  DType input = DType::BF16, output = DType::BF16;
  bool add_c = false;     // beta 1, else 0
  bool in_place = false;  // C is D
  int alignment = 256;    // bytes, of every operand
  int64_t workspace_bytes = 0;

  std::string key() const;
};

struct GemmOperands {
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void *d = nullptr, *workspace = nullptr;
};

// The problem and operands of a Linear, LinearBackwardInput or LinearBackwardWeight op.
struct GemmOp {
  GemmProblem problem;
  GemmOperands operands;
};
GemmOp gemm_of(const Binding& binding);

// FP32 operands, BF16 result: what cuBLASLt doesn't offer, by a plain tiled kernel.
Launch bind_plain_gemm(const GemmOp& gemm);

// Memory that timing may overwrite, and how much of it must pass before the L2 cache holds nothing of it.
struct TimingArena {
  std::byte* memory = nullptr;
  int64_t bytes = 0;
  int64_t l2_bytes = 0;
};

// cuBLASLt's handle. Not thread-safe.
class GemmLibrary {
 public:
  GemmLibrary();

  // An algorithm for the problem: the one selected before, else the fastest of the library's candidates that
  // fit the workspace, timed on random values in L2-cold buffers. Throws Error Unsupported when the library
  // has none.
  Launch prepare(const GemmOp& gemm, KernelSelection& selection, const TimingArena& arena,
                 cudaStream_t stream);

 private:
  std::unique_ptr<std::remove_pointer_t<cublasLtHandle_t>, Destroyer<cublasLtDestroy>> handle_;
};

void check(cublasStatus_t status, const char* what);

// Fills memory with random finite values: ±[0.5, 2) read as BF16 or FP32. bytes is a multiple of 4.
void fill_random(std::byte* memory, int64_t bytes, uint32_t seed, cudaStream_t stream);

}  // namespace lathe::cuda
