#include "kernels/cuda/gemm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace lathe::cuda {

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const ErrorCode code = status == CUBLAS_STATUS_ALLOC_FAILED ? ErrorCode::OutOfMemory : ErrorCode::Backend;
  throw Error(code,
              std::string(what) + ": " + cublasLtGetStatusString(status) + " (" +
                  cublasLtGetStatusName(status) + ").",
              code == ErrorCode::OutOfMemory
                  ? "Free GPU memory or make the run smaller."
                  : "Check that driver and cuBLAS belong together (lathe doctor).");
}

namespace {

cudaDataType_t data_type(DType dtype) {
  return dtype == DType::BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

int alignment_of(const void* pointer, int64_t leading_bytes, int so_far) {
  uintptr_t bits = reinterpret_cast<uintptr_t>(pointer) | static_cast<uintptr_t>(leading_bytes) | 256u;
  bits &= ~bits + 1;  // lowest set bit
  return std::min(so_far, static_cast<int>(std::min<uintptr_t>(bits, 256)));
}

using Descriptor =
    std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>, Destroyer<cublasLtMatmulDescDestroy>>;
using Layout =
    std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>, Destroyer<cublasLtMatrixLayoutDestroy>>;
using Preference = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>,
                                   Destroyer<cublasLtMatmulPreferenceDestroy>>;

Layout make_layout(DType dtype, int64_t rows, int64_t columns, int64_t leading) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, data_type(dtype), static_cast<uint64_t>(rows),
                                   static_cast<uint64_t>(columns), leading),
        "describing a matrix");
  return Layout(layout);
}

// The library's own description of a problem.
struct Described {
  Descriptor matmul;
  Layout a, b, c, d;
  float alpha = 1, beta = 0;

  explicit Described(const GemmProblem& p) {
    cublasLtMatmulDesc_t created = nullptr;
    check(cublasLtMatmulDescCreate(&created, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a matrix product");
    matmul.reset(created);
    const cublasOperation_t op_a = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t op_b = p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(created, CUBLASLT_MATMUL_DESC_TRANSA, &op_a, sizeof op_a),
          "transposing A");
    check(cublasLtMatmulDescSetAttribute(created, CUBLASLT_MATMUL_DESC_TRANSB, &op_b, sizeof op_b),
          "transposing B");
    a = make_layout(p.input, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p.lda);
    b = make_layout(p.input, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, p.ldb);
    c = make_layout(p.output, p.m, p.n, p.ldc);
    d = make_layout(p.output, p.m, p.n, p.ldd);
    beta = p.add_c ? 1.0f : 0.0f;
  }
};

constexpr int kCandidates = 16;

std::vector<cublasLtMatmulAlgo_t> candidates(cublasLtHandle_t handle, const GemmProblem& p,
                                             const Described& described) {
  cublasLtMatmulPreference_t created = nullptr;
  check(cublasLtMatmulPreferenceCreate(&created), "preparing a choice of kernels");
  const Preference preference(created);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check(cublasLtMatmulPreferenceSetAttribute(created, attribute, &value, sizeof value),
          "limiting a choice of kernels");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(p.workspace_bytes));
  // Split-K sums must be rounded once: in FP32 in the workspace, or in place where the output is FP32.
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (p.output == DType::F32) reductions |= CUBLASLT_REDUCTION_SCHEME_INPLACE;
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(attribute, static_cast<uint32_t>(p.alignment));
  std::array<cublasLtMatmulHeuristicResult_t, kCandidates> results{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, described.matmul.get(), described.a.get(), described.b.get(), described.c.get(),
      described.d.get(), created, kCandidates, results.data(), &found);
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  if (status == CUBLAS_STATUS_SUCCESS) {
    for (int i = 0; i < found; ++i) {
      const cublasLtMatmulHeuristicResult_t& result = results[static_cast<size_t>(i)];
      if (result.state == CUBLAS_STATUS_SUCCESS &&
          result.workspaceSize <= static_cast<size_t>(p.workspace_bytes))
        algorithms.push_back(result.algo);
    }
  }
  if (algorithms.empty())
    throw Error(ErrorCode::Unsupported, "cuBLASLt has no kernel for " + p.key() + ".",
                "Use sizes that are multiples of 8, or update cuBLAS.");
  return algorithms;
}

// The algorithm as text: its id and tile for people, its bits for the library.
std::string encode(const cublasLtMatmulAlgo_t& algorithm) {
  const auto attribute = [&](cublasLtMatmulAlgoConfigAttributes_t which) {
    int32_t value = 0;
    size_t written = 0;
    return cublasLtMatmulAlgoConfigGetAttribute(&algorithm, which, &value, sizeof value, &written) ==
                   CUBLAS_STATUS_SUCCESS
               ? value
               : -1;
  };
  std::string text = "id " + std::to_string(attribute(CUBLASLT_ALGO_CONFIG_ID)) + " tile " +
                     std::to_string(attribute(CUBLASLT_ALGO_CONFIG_TILE_ID)) + " stages " +
                     std::to_string(attribute(CUBLASLT_ALGO_CONFIG_STAGES_ID)) + " split " +
                     std::to_string(attribute(CUBLASLT_ALGO_CONFIG_SPLITK_NUM)) + " bits ";
  unsigned char bytes[sizeof algorithm];
  std::memcpy(bytes, &algorithm, sizeof algorithm);
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

bool decode(const std::string& text, cublasLtMatmulAlgo_t& algorithm) {
  unsigned char bytes[sizeof algorithm];
  if (text.size() < 2 * sizeof bytes) return false;
  const std::string hex = text.substr(text.size() - 2 * sizeof bytes);
  for (size_t i = 0; i < sizeof bytes; ++i) {
    const auto digit = [&](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
    if (high < 0 || high > 15 || low < 0 || low > 15) return false;
    bytes[i] = static_cast<unsigned char>(high << 4 | low);
  }
  std::memcpy(&algorithm, bytes, sizeof algorithm);
  return true;
}

cublasStatus_t matmul(cublasLtHandle_t handle, const Described& p, const cublasLtMatmulAlgo_t& algorithm,
                      const GemmOperands& o, size_t workspace_bytes, cudaStream_t stream) {
  return cublasLtMatmul(handle, p.matmul.get(), &p.alpha, o.a, p.a.get(), o.b, p.b.get(), &p.beta, o.c,
                        p.c.get(), o.d, p.d.get(), &algorithm, o.workspace, workspace_bytes, stream);
}

// Sets of operands laid out in the timing arena, one after another, so that the L2 cache never holds the
// next.
std::vector<GemmOperands> rotation(const GemmProblem& p, const TimingArena& arena) {
  const auto rounded = [](int64_t bytes) { return (bytes + 255) / 256 * 256; };
  const int64_t a = rounded((p.transpose_a ? p.m : p.k) * p.lda * dtype_bytes(p.input));
  const int64_t b = rounded((p.transpose_b ? p.k : p.n) * p.ldb * dtype_bytes(p.input));
  const int64_t d = rounded(p.n * p.ldd * dtype_bytes(p.output));
  const int64_t c = p.add_c && !p.in_place ? rounded(p.n * p.ldc * dtype_bytes(p.output)) : 0;
  const int64_t workspace = rounded(p.workspace_bytes), set = a + b + c + d;
  const int64_t fitting = (arena.bytes - workspace) / set;
  const int64_t wanted = 1 + (4 * arena.l2_bytes + set - 1) / set;
  std::vector<GemmOperands> sets;
  for (int64_t i = 0; i < std::min(fitting, wanted); ++i) {
    std::byte* base = arena.memory + workspace + i * set;
    GemmOperands operands;
    operands.workspace = arena.memory;
    operands.a = base;
    operands.b = base + a;
    operands.d = base + a + b + c;
    operands.c = c > 0 ? base + a + b : operands.d;
    sets.push_back(operands);
  }
  return sets;
}

// Index of the fastest candidate. After a cold round that drops the slow ones, the rest take turns in bursts
// of many milliseconds without a pause: a chip at its power limit favours other kernels than a rested one,
// and training is the former.
template <class Run>
size_t fastest(const std::vector<cublasLtMatmulAlgo_t>& choices, const std::vector<GemmOperands>& sets,
               const TimingArena& arena, cudaStream_t stream, Run&& run) {
  if (choices.size() < 2 || sets.empty()) return 0;
  fill_random(arena.memory, arena.bytes / 4 * 4, 1, stream);
  const EventHandle begin = make_event(true), end = make_event(true);
  size_t turn = 0;
  constexpr float kNever = 1e30f;
  const auto milliseconds = [&](size_t candidate, int calls) {  // of one call
    check(cudaEventRecord(begin.get(), stream), "timing a matrix product");
    bool runs = true;
    for (int call = 0; call < calls && runs; ++call)
      runs = run(choices[candidate], sets[turn++ % sets.size()]);
    check(cudaEventRecord(end.get(), stream), "timing a matrix product");
    check(cudaEventSynchronize(end.get()), "timing a matrix product");
    float elapsed = 0;
    check(cudaEventElapsedTime(&elapsed, begin.get(), end.get()), "timing a matrix product");
    return runs ? elapsed / static_cast<float>(calls) : kNever;
  };
  std::vector<float> cold(choices.size());
  for (size_t i = 0; i < choices.size(); ++i) milliseconds(i, 1);  // loads the kernels
  for (size_t i = 0; i < choices.size(); ++i) cold[i] = std::min(milliseconds(i, 4), milliseconds(i, 4));
  const float best_cold = *std::min_element(cold.begin(), cold.end());
  if (best_cold == kNever) return 0;
  constexpr int kRounds = 2;
  constexpr float kBurst = 12, kMargin = 1.1f;
  const int calls = std::clamp(static_cast<int>(kBurst / best_cold), 4, 500);
  std::vector<float> hot(choices.size(), kNever);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < choices.size(); ++i)
      if (cold[i] <= kMargin * best_cold) hot[i] = std::min(hot[i], milliseconds(i, calls));
  }
  return static_cast<size_t>(std::min_element(hot.begin(), hot.end()) - hot.begin());
}

}  // namespace

std::string GemmProblem::key() const {
  std::string text = "gemm ";
  text += transpose_a ? 'T' : 'N';
  text += transpose_b ? 'T' : 'N';
  for (const int64_t value : {m, n, k, lda, ldb, ldc, ldd}) text += ' ' + std::to_string(value);
  text += ' ' + std::string(dtype_name(input)) + ' ' + std::string(dtype_name(output));
  text += !add_c ? " write" : in_place ? " accumulate" : " residual";
  return text + " align " + std::to_string(alignment) + " workspace " + std::to_string(workspace_bytes);
}

// Row-major y [R,out] is column-major [out,R], so that every product below is stated transposed.
GemmOp gemm_of(const Binding& b) {
  GemmOp gemm;
  GemmProblem& p = gemm.problem;
  GemmOperands& o = gemm.operands;
  const auto columns = [&](int slot) { return b.shape(slot)[b.shape(slot).rank - 1]; };
  int first = 0, second = 0, out = 0, residual = -1;
  switch (b.op().kind) {
    case OpKind::Linear: {  // yᵀ = weight · xᵀ, weight stored as its transpose
      using S = slot::Linear;
      first = S::Weight, second = S::X, out = S::Y;
      residual = b.has(S::Residual) ? +S::Residual : -1;
      p.transpose_a = true;
      p.m = columns(S::Y), p.n = b.rows(S::X), p.k = columns(S::X);
      break;
    }
    case OpKind::LinearBackwardInput: {  // dxᵀ = weightᵀ · dyᵀ
      using S = slot::LinearBackwardInput;
      first = S::Weight, second = S::Dy, out = S::Dx;
      p.m = columns(S::Dx), p.n = b.rows(S::Dy), p.k = columns(S::Dy);
      break;
    }
    default: {  // d_weightᵀ = xᵀ · dy
      using S = slot::LinearBackwardWeight;
      first = S::X, second = S::Dy, out = S::DWeight;
      p.transpose_b = true;
      p.m = columns(S::X), p.n = columns(S::Dy), p.k = b.rows(S::Dy);
      p.in_place = p.add_c = b.accumulates(S::DWeight);
      break;
    }
  }
  p.input = b.dtype(first);
  p.output = b.dtype(out);
  const auto floating = [](DType dtype) { return dtype == DType::BF16 || dtype == DType::F32; };
  if (!floating(p.input) || !floating(p.output) || b.dtype(second) != p.input)
    throw Error(ErrorCode::Unsupported,
                "The CUDA backend has no matrix product for " + describe(b.op()) + " (" +
                    describe_operands(b.program(), b.op()) + ").",
                "Use BF16 or FP32 as the compute type.");
  p.add_c |= residual >= 0;
  p.lda = b.row_stride(first);
  p.ldb = b.row_stride(second);
  p.ldd = b.row_stride(out);
  p.ldc = residual >= 0 ? b.row_stride(residual) : p.ldd;
  p.workspace_bytes = b.workspace_bytes();
  o.a = b.address(first);
  o.b = b.address(second);
  o.d = b.address(out);
  o.c = residual >= 0 ? b.address(residual) : o.d;
  o.workspace = b.workspace();
  p.alignment = alignment_of(o.a, p.lda * dtype_bytes(p.input), p.alignment);
  p.alignment = alignment_of(o.b, p.ldb * dtype_bytes(p.input), p.alignment);
  p.alignment = alignment_of(o.c, p.ldc * dtype_bytes(p.output), p.alignment);
  p.alignment = alignment_of(o.d, p.ldd * dtype_bytes(p.output), p.alignment);
  return gemm;
}

GemmLibrary::GemmLibrary() {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle), "starting cuBLASLt");
  handle_.reset(handle);
}

Launch GemmLibrary::prepare(const GemmOp& gemm, KernelSelection& selection, const TimingArena& arena,
                            cudaStream_t stream) {
  // cuBLASLt rounds no FP32 product to BF16.
  if (gemm.problem.input == DType::F32 && gemm.problem.output == DType::BF16) return bind_plain_gemm(gemm);
  const auto described = std::make_shared<const Described>(gemm.problem);
  const size_t workspace_bytes = static_cast<size_t>(gemm.problem.workspace_bytes);
  const std::string key = gemm.problem.key();
  cublasLtMatmulAlgo_t algorithm{};
  const auto runs = [&](const cublasLtMatmulAlgo_t& candidate) {
    cublasLtMatmulHeuristicResult_t result{};
    return cublasLtMatmulAlgoCheck(handle_.get(), described->matmul.get(), described->a.get(),
                                   described->b.get(), described->c.get(), described->d.get(), &candidate,
                                   &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= workspace_bytes;
  };
  const std::optional<std::string> known = selection.find(key);
  if (!known || !decode(*known, algorithm) || !runs(algorithm)) {
    const std::vector<cublasLtMatmulAlgo_t> choices = candidates(handle_.get(), gemm.problem, *described);
    const std::vector<GemmOperands> sets = rotation(gemm.problem, arena);
    algorithm = choices[fastest(
        choices, sets, arena, stream, [&](const cublasLtMatmulAlgo_t& candidate, const GemmOperands& on) {
          return matmul(handle_.get(), *described, candidate, on, workspace_bytes, stream) ==
                 CUBLAS_STATUS_SUCCESS;
        })];
    selection.choose(key, encode(algorithm));
  }
  cublasLtHandle_t handle = handle_.get();
  return [=, operands = gemm.operands](cudaStream_t on) {
    check(matmul(handle, *described, algorithm, operands, workspace_bytes, on), "launching a matrix product");
  };
}

}  // namespace lathe::cuda
