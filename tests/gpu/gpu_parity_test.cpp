// Every op on the GPU against the FP64 reference, in FP32 and BF16.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "tests/gpu/gpu.h"
#include "tests/parity/harness.h"

namespace lathe::test {

namespace {

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
  EXPECT_EQ(worst.size(), static_cast<size_t>(kOpKindCount));
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
