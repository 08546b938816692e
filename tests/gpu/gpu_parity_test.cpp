// Every op on the GPU against the FP64 reference, in FP32 and BF16. LATHE_PARITY_OPS="adamw, rms norm
// backward" tests just these kinds, for compute-sanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/gpu/gpu.h"
#include "tests/parity/harness.h"

namespace lathe::test {

namespace {

// Whether LATHE_PARITY_OPS, where it is set, names the kind.
bool is_wanted(OpKind kind) {
  const char* const wanted = std::getenv("LATHE_PARITY_OPS");
  if (wanted == nullptr) return true;
  return (", " + std::string(wanted) + ",").find(", " + std::string(op_kind_name(kind)) + ",") !=
         std::string::npos;
}

class GpuParity : public testing::TestWithParam<DType> {};

TEST_P(GpuParity, EveryOp_AgainstReference_WithinBounds) {
  LATHE_NEEDS_GPU();
  ParityOptions options;
  // Tensor cores take BF16 operands: probabilities, their gradients and the products they are recomputed from
  // are rounded on the way.
  options.attention_roundings = 3;
  options.accumulate_roundings = 1;  // cuBLASLt on Hopper adds BF16 products in memory
  std::map<OpKind, double> worst;
  std::map<OpKind, int> count, refused;
  for (const OpCase& test : parity_cases(GetParam())) {
    const OpKind kind = test.op.op().kind;
    if (!is_wanted(kind)) continue;
    const ParityReport report = run_parity(*gpu().backend, test, options);
    EXPECT_EQ(report.failure, "");
    worst[kind] = std::max(worst[kind], report.worst_ratio);
    if (report.refusal.empty()) {
      ++count[kind];
    } else {
      ++refused[kind];
      std::printf("refused: %s: %s\n", test.name.c_str(), report.refusal.c_str());
    }
  }
  size_t kinds = 0;
  for (int kind = 0; kind < kOpKindCount; ++kind) kinds += is_wanted(static_cast<OpKind>(kind));
  EXPECT_GT(kinds, 0u) << "LATHE_PARITY_OPS names no kind of op";
  EXPECT_EQ(worst.size(), kinds);
  for (const auto& [kind, ratio] : worst) {
    EXPECT_GE(count[kind], 4) << op_kind_name(kind);
    std::printf("%-24s %3d cases, %d refused, worst error %.3f of its bound\n",
                std::string(op_kind_name(kind)).c_str(), count[kind], refused[kind], ratio);
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, GpuParity, testing::Values(DType::F32, DType::BF16),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

}  // namespace

}  // namespace lathe::test
