// The doctor: verdicts on versions, a child that crashes or hangs, and rates measured on the CPU backend.
#include "core/experiment/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/experiment/device_rates.h"
#include "core/platform/files.h"
#include "core/program/cost_model.h"
#include "kernels/api/avoided_versions.h"
#include "kernels/cpu/cpu_backend.h"

namespace lathe {
namespace {

using ::testing::HasSubstr;

Finding finding_of(const std::string& component, const std::string& version, int compute_capability = 120) {
  DeviceInfo device;
  device.target = {DeviceKind::Cuda, compute_capability, true};
  device.versions = {{component, version}};
  const std::vector<Check> checks = check_versions(device);
  EXPECT_EQ(checks.size(), 1u);
  EXPECT_THAT(checks[0].text, HasSubstr(version));
  EXPECT_EQ(checks[0].values["avoid"], checks[0].finding != Finding::Good);
  return checks[0].finding;
}

TEST(Doctor, Versions_AreJudgedByTheAvoidList) {
  EXPECT_EQ(finding_of("driver", "580.95.05"), Finding::Good);
  EXPECT_EQ(finding_of("driver", "575.57.08"), Finding::Warning);
  EXPECT_EQ(finding_of("cudnn", "9.19.0"), Finding::Good);
  EXPECT_EQ(finding_of("cudnn", "9.10.1"), Finding::Warning);
  EXPECT_EQ(finding_of("cudnn", "9.10.2"), Finding::Good);
  EXPECT_EQ(finding_of("cudnn", "9.12.0", 90), Finding::Warning);
  EXPECT_EQ(finding_of("cudnn", "9.12.0", 120), Finding::Good);
  EXPECT_EQ(finding_of("cudnn", "9.14.0"), Finding::Warning);
  EXPECT_EQ(finding_of("cudnn", "none"), Finding::Good);  // own kernels take over
  EXPECT_EQ(finding_of("cublaslt", "13.0.2"), Finding::Good);
}

// What gives wrong gradients is passed over, not only warned of.
TEST(Doctor, CudnnWithWrongResults_IsUnusable) {
  const auto unusable = [](const char* version, int compute_capability) {
    const AvoidedVersion* trouble = avoided_version("cudnn", version, compute_capability);
    return trouble && trouble->unusable;
  };
  EXPECT_TRUE(unusable("9.5.1", 120));
  EXPECT_FALSE(unusable("9.6.0", 120));
  EXPECT_TRUE(unusable("9.10.0", 120));
  EXPECT_TRUE(unusable("9.10.1", 90));
  EXPECT_FALSE(unusable("9.10.2", 90));
  EXPECT_TRUE(unusable("9.12.0", 90));
  EXPECT_FALSE(unusable("9.12.0", 120));
  EXPECT_FALSE(unusable("9.13.0", 90));
  EXPECT_FALSE(unusable("9.14.0", 90));
  EXPECT_FALSE(unusable("9.19.0", 90));
  EXPECT_FALSE(unusable("none", 90));
}

TEST(Doctor, Host_IsSeenWithItsHistoryFolder) {
  const TemporaryFolder folder;
  const std::vector<Check> checks = check_host(folder.path() / "home");
  std::vector<std::string> subjects;
  for (const Check& check : checks) {
    subjects.push_back(check.subject);
    EXPECT_FALSE(check.text.empty()) << check.subject;
    EXPECT_NE(check.finding, Finding::Bad) << check.subject << ": " << check.text;
  }
  EXPECT_THAT(subjects, ::testing::ElementsAre("system", "display", "host memory", "history", "disk"));
  EXPECT_EQ(checks[3].values["locks"], true);
}

#ifndef _WIN32
std::vector<Check> checks_of_script(const std::string& script, double seconds = 20) {
  return checks_of_child({"/bin/sh", "-c", script}, "cuda", seconds);
}

// What the child found before it died stays, and what it was doing is said.
TEST(Doctor, ChildThatCrashesOrHangs_BecomesAFinding) {
  const std::string before = "echo '" + check_line({"driver", Finding::Warning, "old"}) +
                             "'; echo noise; echo '" + doing_line("measuring its rates") + "'; ";
  for (const auto& [end, word] :
       {std::pair{"kill -SEGV $$", "signal 11"}, std::pair{"sleep 60", "no end within"},
        std::pair{"exit 7", "exit code 7"}}) {
    const std::vector<Check> checks = checks_of_script(before + end, 1);
    ASSERT_EQ(checks.size(), 2u) << end;
    EXPECT_EQ(checks[0].subject, "driver");
    EXPECT_EQ(checks[0].finding, Finding::Warning);
    EXPECT_EQ(checks[1].finding, Finding::Bad);
    EXPECT_EQ(checks[1].code, ErrorCode::Backend);
    EXPECT_THAT(checks[1].text, HasSubstr("measuring its rates"));
    EXPECT_THAT(checks[1].text, HasSubstr(word));
  }
  EXPECT_EQ(checks_of_child({"/nowhere/lathe"}, "cuda", 1).at(0).finding, Finding::Bad);
}

TEST(Doctor, Check_SurvivesTheWayThroughTheChild) {
  Check check{"disk", Finding::Bad, "full \xff", ErrorCode::DiskFull};
  check.values["free_bytes"] = 5;
  const std::vector<Check> checks = checks_of_script("printf '%s\\n' '" + check_line(check) + "'");
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].code, ErrorCode::DiskFull);
  EXPECT_EQ(checks[0].text, "full \xEF\xBF\xBD");
  EXPECT_EQ(checks[0].values["free_bytes"], 5);
}
#endif

TEST(Doctor, RatesOfTheCpu_AreMeasuredByRealPrograms) {
  const auto backend = make_cpu_backend();
  const DeviceRates measured = measure_rates(*backend, 0.05);
  EXPECT_GT(measured.rates.matrix_flops, 1e8);
  EXPECT_GT(measured.rates.attention_flops, 1e7);
  EXPECT_GT(measured.rates.memory_bytes, 1e7);
  EXPECT_GT(measured.to_device_bytes_per_s, 1e7);
  EXPECT_GT(measured.to_host_bytes_per_s, 1e7);
}

// As the command's child does it: the device, its versions, its rates, in the order found.
TEST(Doctor, DeviceIsProbed_EachFactIsACheck) {
  const TemporaryFolder home;
  BackendEntry cpu{"cpu", make_cpu_backend(), {}};
  std::vector<std::string> subjects, doings;
  check_device(
      cpu, home.path(), true, [&](const Check& check) { subjects.push_back(check.subject); },
      [&](const std::string& doing) { doings.push_back(doing); });
  EXPECT_THAT(subjects, ::testing::IsSupersetOf(
                            {"cpu", "cpu products", "cpu attention", "cpu memory rate", "cpu copies"}));
  EXPECT_THAT(doings, ::testing::ElementsAre("asking the device", "measuring its rates"));
  subjects.clear();
  const BackendEntry missing{"cuda", nullptr, "No driver."};
  check_device(
      missing, home.path(), true,
      [&](const Check& check) {
        subjects.push_back(check.subject);
        EXPECT_EQ(check.finding, Finding::Warning);
        EXPECT_EQ(check.text, "No driver.");
      },
      [](const std::string&) {});
  EXPECT_EQ(subjects, std::vector<std::string>{"cuda"});
}

// What the doctor stored replaces the specification's typical rates.
TEST(Doctor, MeasuredRates_ReachTheCostModel) {
  const TemporaryFolder home;
  Calibration calibration;
  calibration.gpu = "NVIDIA GeForce RTX 5080";
  calibration.rates = GpuRates{9e13, 4e13, 8e11};
  save_calibration(home.path(), calibration);
  const CostModel costs(find_gpu(calibration.gpu), load_calibration(home.path(), calibration.gpu));
  EXPECT_EQ(costs.rates().matrix_flops, 9e13);
  EXPECT_EQ(costs.rates().attention_flops, 4e13);
  EXPECT_EQ(costs.rates().memory_bytes, 8e11);
  EXPECT_GT(costs.rates().launch_s, 0);
}

}  // namespace
}  // namespace lathe
