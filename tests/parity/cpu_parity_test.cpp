// The CPU backend against the reference, in each dtype, and against itself with other numbers of threads.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "kernels/cpu/cpu_backend.h"
#include "tests/parity/harness.h"

namespace lathe::test {

namespace {

class CpuParity : public testing::TestWithParam<DType> {};

std::string dtype_suffix(const testing::TestParamInfo<DType>& info) {
  return std::string(dtype_name(info.param));
}

TEST_P(CpuParity, EveryOp_AgainstReference_WithinBounds) {
  const auto backend = make_cpu_backend();
  std::map<OpKind, double> worst;
  std::map<OpKind, int> count;
  for (const OpCase& test : parity_cases(GetParam())) {
    const ParityReport report = run_parity(*backend, test);
    EXPECT_EQ(report.failure, "");
    EXPECT_EQ(report.refusal, "");
    const OpKind kind = test.op.op().kind;
    worst[kind] = std::max(worst[kind], report.worst_ratio);
    ++count[kind];
  }
  EXPECT_EQ(worst.size(), static_cast<size_t>(kOpKindCount));
  for (const auto& [kind, cases] : count) {
    EXPECT_GE(cases, 4) << op_kind_name(kind);
    std::printf("%-24s %3d cases, worst error %.3f of its bound\n", std::string(op_kind_name(kind)).c_str(),
                cases, worst[kind]);
  }
}

TEST_P(CpuParity, EveryOp_OtherThreadCount_SameBits) {
  const auto backend = make_cpu_backend();
  PrepareOptions one, three;
  one.threads = 1;
  three.threads = 3;
  for (const OpCase& test : parity_cases(GetParam())) {
    EXPECT_EQ(run_case(*backend, test, one), run_case(*backend, test, three)) << test.name;
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, CpuParity, testing::Values(DType::F32, DType::BF16, DType::F64),
                         dtype_suffix);

}  // namespace

}  // namespace lathe::test
