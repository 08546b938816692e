// What the tests of the history share: a home folder of their own, and rows with recognisable values.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "core/history/history_store.h"
#include "core/history/sqlite.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {

class HistoryTest : public ::testing::Test {
 protected:
  explicit HistoryTest(const std::filesystem::path& parent = {})
      : folder_("history-test", parent), home_(folder_.path() / "home") {}

  const std::filesystem::path& home() const { return home_; }
  std::filesystem::path scratch() const { return folder_.path(); }

  static void write(const std::filesystem::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }

  static RunInfo info(std::string name) {
    RunInfo info;
    info.name = std::move(name);
    info.settings_json = R"({"model":{"layers":2}})";
    info.settings = {{"model.layers", "2"}, {"batch.micro_batch", "1"}, {"optimizer.lr", "3e-4"}};
    info.device = "CPU, 2 cores";
    info.versions_json = R"({"lathe":"0.1.0"})";
    info.memory_source = "host";
    return info;
  }

  // Update `step` of a made-up run: every value is a function of the step.
  static UpdateRow update(int64_t step, double loss) {
    UpdateRow row;
    row.step = step;
    row.tokens = step * 1000;
    row.active_ms = step * 50;
    row.loss = loss;
    row.grad_norm = 1.0 / static_cast<double>(step);
    row.lr = 1e-3;
    row.tokens_per_s = 1000.0 + static_cast<double>(step % 7);
    row.memory_process = 1e9 + static_cast<double>(step);
    return row;
  }
  static UpdateRow update(int64_t step) { return update(step, 10.0 / static_cast<double>(step)); }

  // Runs `action`, which must throw an Error of that code, and returns it.
  template <class Action>
  static Error error_of(ErrorCode code, Action&& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error_code_name(error.code()), error_code_name(code)) << error.what();
      EXPECT_FALSE(error.what_happened().empty());
      return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return Error(code, "nothing was thrown");
  }

  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  static constexpr double infinity = std::numeric_limits<double>::infinity();

 private:
  TemporaryFolder folder_;
  std::filesystem::path home_;
};

}  // namespace lathe
