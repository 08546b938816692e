// Kills a writing process at random moments and looks at what it left behind. The unit run does it a few
// times, the soak many.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>

#include "core/history/history_store.h"
#include "core/history/sqlite.h"
#include "core/platform/files.h"
#include "core/platform/process.h"

#ifdef _WIN32
#define popen _popen
#define pclose _pclose
#define EXEC ""
#else
#define EXEC "exec "  // so that no shell is there to comment on the kill
#endif

namespace lathe {

struct ChildReport {
  std::string run;
  int64_t last_step = 0;      // of the last row it says it wrote
  int64_t last_old_step = 0;  // of the last row it wrote well over 250 ms before its death
};

// Runs the child to its violent end.
inline ChildReport run_child(const std::filesystem::path& home, const std::string& run, int64_t life_us) {
  const std::string command = EXEC "\"" + std::string(HISTORY_CHILD) + "\" \"" + to_utf8(home) + "\" " + run +
                              " " + std::to_string(life_us);
  ChildReport report;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return report;
  std::string output;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  const int64_t death_ms = wall_clock_ms();
  pclose(pipe);
  // A busy machine may run the writer's thread late: allow as much again as is promised.
  const int64_t old_ms = death_ms - 500;
  std::istringstream lines(output.substr(0, output.rfind('\n') + 1));
  std::string word;
  while (lines >> word) {
    if (word == "run") {
      lines >> report.run;
    } else {
      int64_t time_ms = 0;
      lines >> report.last_step >> time_ms;
      if (time_ms < old_ms) report.last_old_step = report.last_step;
    }
  }
  return report;
}

// Every database is intact; the run is listed as interrupted and resumable; its rows have no gap and lack at
// most one flush.
inline void check_remains(const std::filesystem::path& home, const ChildReport& report) {
  // Looked at before anything repairs it, and after.
  const auto folder = home / "runs" / from_utf8(report.run);
  const auto intact = [](const std::filesystem::path& file) {
    const Database database(file, Database::Mode::Read);
    Statement check = database.prepare("PRAGMA integrity_check");
    return check.step() ? check.text(0) : "no answer";
  };
  ASSERT_EQ(intact(folder / "run.db"), "ok");
  ASSERT_EQ(intact(home / "history.db"), "ok");
  const HistoryStore store(home);
  const RunSummary run = store.summary(report.run);
  EXPECT_EQ(status_name(run.status), "interrupted");
  if (run.last_checkpoint_step) {
    EXPECT_NE(run.status_reason.find("resumable at step " + std::to_string(*run.last_checkpoint_step)),
              std::string::npos)
        << run.status_reason;
  }
  const auto reader = store.open_reader(report.run);
  const Series rows = reader->series({.metrics = {"loss"}});
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows.x[i], static_cast<double>(i + 1)) << "a row is missing";
    ASSERT_EQ(rows.columns[0].last[i], rows.x[i]);
  }
  EXPECT_GE(static_cast<int64_t>(rows.size()), report.last_old_step) << "more than one flush was lost";
  EXPECT_EQ(run.step, static_cast<int64_t>(rows.size()));
  int64_t in_buckets = 0;
  const Series buckets = reader->series({.metrics = {"loss"}, .resolution = Resolution::Rows64});
  for (size_t i = 0; i < buckets.size(); ++i) in_buckets += buckets.seq[i] - buckets.first_seq[i] + 1;
  EXPECT_EQ(in_buckets, static_cast<int64_t>(rows.size())) << "buckets and rows are of different commits";
}

inline void kill_rounds(const std::filesystem::path& home, int rounds, unsigned seed) {
  ::testing::Test::RecordProperty("seed", static_cast<int>(seed));
  std::mt19937 random(seed);
  std::string run = "new";
  int64_t written = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    // Now and then before the first row is out, mostly in the middle of writing.
    const auto life_us = static_cast<int64_t>(random() % (round % 4 == 3 ? 50'000 : 1'500'000));
    const ChildReport report = run_child(home, run, life_us);
    ASSERT_FALSE(report.run.empty()) << "the child didn't start";
    ASSERT_NO_FATAL_FAILURE(check_remains(home, report));
    written += report.last_step;
    run = random() % 3 == 0 ? "new" : report.run;
  }
  EXPECT_GT(written, 0);
}

}  // namespace lathe
