// Long campaigns on the history: a day's load in small, many kills, and a fuzzer on the run file.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "core/platform/process.h"
#include "tests/unit/history_kill.h"
#include "tests/unit/history_support.h"

namespace lathe {
namespace {

using namespace std::chrono_literals;
using HistorySoak = HistoryTest;

TEST_F(HistorySoak, Writer_KilledAtFiftyRandomMoments_LeavesAnIntactHistory) {
  kill_rounds(home(), 50, 50);
}

// 2,000 rows/s, ten times the rate of a fast run, for a quarter of an hour or LATHE_SOAK_SECONDS.
TEST_F(HistorySoak, Writer_2000RowsASecondBesideReadersAndDeletes_LosesNothing) {
  HistoryStore store(home());
  auto writer = store.create_run(info("soak"));
  const std::string id = writer->id();
  writer->begin_session(1);
  std::atomic<bool> stop = false;
  std::atomic<int64_t> looks = 0, deletes = 0;
  std::vector<std::thread> threads;
  const auto repeat = [&](auto body) {
    threads.emplace_back([&, body]() mutable {
      try {
        while (!stop) body();
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
        stop = true;
      }
    });
  };
  for (int i = 0; i < 3; ++i) {
    repeat([&, seen = int64_t{0}, version = int64_t{-1},
            reader = std::make_shared<RunReader>(store.run_folder(id))]() mutable {
      std::this_thread::sleep_for(100ms);
      if (reader->data_version() == version) return;
      version = reader->data_version();
      SeriesQuery query{.metrics = {"loss", "tokens_per_s"}};
      query.after_seq = seen;
      for (const int64_t seq : reader->series(query).seq) {
        if (seq != seen + 1) ADD_FAILURE() << "row " << seq << " follows " << seen;
        seen = seq;
      }
      reader->series({.metrics = {"loss"}, .resolution = Resolution::Rows64});
      reader->live();
      HistoryStore(home()).list();
      ++looks;
    });
  }
  repeat([&] {
    HistoryStore own(home());
    auto other = own.create_run(info("other"));
    const std::string other_id = other->id();
    other->begin_session(1);
    for (int64_t step = 1; step <= 1000; ++step) other->add_update(update(step));
    other->finish(RunStatus::Finished, "");
    other.reset();
    own.delete_run(other_id);
    ++deletes;
    std::this_thread::sleep_for(50ms);
  });
  const char* seconds_asked = std::getenv("LATHE_SOAK_SECONDS");
  const int64_t rows = 2000 * (seconds_asked ? std::atoll(seconds_asked) : 900);
  ASSERT_GE(rows, 2000);
  int64_t settled_bytes = 0;  // of the process, at a third of the way
  double slowest = 0;
  auto next = std::chrono::steady_clock::now();
  const double start = monotonic_seconds();
  for (int64_t step = 1; step <= rows && !stop; ++step) {
    const double before = monotonic_seconds();
    writer->add_update(update(step));
    writer->set_live({.state = RunStatus::Running, .step = step});
    slowest = std::max(slowest, monotonic_seconds() - before);
    if (step == rows / 3) settled_bytes = process_memory().resident_bytes;
    std::this_thread::sleep_until(next += 500us);
  }
  const double seconds = monotonic_seconds() - start;
  const int64_t grown_bytes = process_memory().resident_bytes - settled_bytes;
  stop = true;
  for (std::thread& thread : threads) thread.join();
  writer->flush();
  EXPECT_FALSE(writer->failure());
  EXPECT_LT(grown_bytes, int64_t{32} << 20);
  const auto reader = store.open_reader(id);
  EXPECT_EQ(reader->row_count(MetricTable::Updates), rows);
  EXPECT_EQ(reader->series({.metrics = {"loss"}}).size(), static_cast<size_t>(rows));
  std::printf("%lld rows in %.1f s, slowest call %.2f ms, %lld looks, %lld runs deleted, memory +%lld KiB\n",
              static_cast<long long>(rows), seconds, slowest * 1000, static_cast<long long>(looks),
              static_cast<long long>(deletes), static_cast<long long>(grown_bytes >> 10));
}

// A million updates: what the design promises about size and speed.
TEST_F(HistorySoak, MillionUpdates_WrittenAndRead_MeetTheirTimes) {
  constexpr int64_t rows = 1'000'000;
  HistoryStore store(home());
  auto writer = store.create_run(info("million"));
  const std::string id = writer->id();
  writer->begin_session(1);
  const auto timed = [](const char* what, auto&& body) {
    const double start = monotonic_seconds();
    body();
    const double ms = (monotonic_seconds() - start) * 1000;
    std::printf("%-44s %8.1f ms\n", what, ms);
    return ms;
  };
  timed("insert 1,000,000 updates of 16 values", [&] {
    for (int64_t step = 1; step <= rows; ++step) {
      UpdateRow row = update(step);
      row.clip_factor = 0.5 + 1e-7 * static_cast<double>(step);
      row.skipped = 0;
      row.valid_tokens = 65'000;
      row.data_wait_ms = 0.1 + 1e-8 * static_cast<double>(step);
      row.forward_backward_ms = 7000.1 + 1e-5 * static_cast<double>(step);
      row.update_ms = 20.3;
      row.step_ms = 7020.4 + 1e-5 * static_cast<double>(step);
      row.tokens_per_s_valid = 8000.5;
      row.tokens_per_s_end_to_end = 7900.25;
      row.memory_planned = 15e9;
      row.memory_arena = 15e9;
      writer->add_update(row);
    }
    writer->flush();
  });
  timed("finish", [&] { writer->finish(RunStatus::Finished, ""); });
  std::printf("%-44s %8.1f MB\n", "run.db",
              static_cast<double>(std::filesystem::file_size(store.run_folder(id) / "run.db")) / 1e6);
  std::unique_ptr<RunReader> reader;
  double opening = timed("open the run", [&] { reader = store.open_reader(id); });
  opening += timed("sessions, events, live, first chart", [&] {
    reader->sessions();
    reader->events();
    reader->live();
    SeriesQuery query{.metrics = {"loss"}};
    query.resolution = reader->resolution_for(MetricTable::Updates, 20'000);
    EXPECT_EQ(query.resolution, Resolution::Rows64);
    EXPECT_EQ(reader->series(query).size(), static_cast<size_t>(rows / 64));
  });
  EXPECT_LT(opening, 500);
  const double raw = timed("one series, every row", [&] {
    EXPECT_EQ(reader->series({.metrics = {"loss"}}).size(), static_cast<size_t>(rows));
  });
  EXPECT_LT(raw, 2000);
  timed("one series, per 4096 rows", [&] {
    EXPECT_EQ(reader->series({.metrics = {"loss"}, .resolution = Resolution::Rows4096}).size(), 245u);
  });
  timed("resume at half", [&] {
    reader.reset();
    auto again = store.open_writer(id);
    again->begin_session(rows / 2 + 1);
    again->finish(RunStatus::Stopped, "");
  });
  EXPECT_EQ(store.open_reader(id)->row_count(MetricTable::Updates), rows / 2);
}

}  // namespace
}  // namespace lathe
