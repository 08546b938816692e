// A trainer's stand-in that dies without warning: writes rows as fast as told, says so line by line, and
// kills itself.
//   history_child HOME RUN|new MICROSECONDS
// Prints "run ID", then "row STEP WALL_MS" after each row it handed to the writer. RUN is resumed behind its
// newest complete checkpoint.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <thread>

#include "core/history/history_store.h"
#include "core/platform/files.h"
#include "core/platform/process.h"
#include "kernels/api/error.h"

#ifdef _WIN32
#include <windows.h>
static void die() {
  TerminateProcess(GetCurrentProcess(), 9);
}
#else
static void die() {
  std::raise(SIGKILL);
}
#endif

int main(int argc, char** argv) {
  using namespace lathe;
  if (argc != 4) return 2;
  try {
    HistoryStore store(from_utf8(argv[1]));
    const std::string run = argv[2];
    const std::chrono::microseconds life(std::stoll(argv[3]));
    auto writer = run == "new" ? store.create_run({.name = "kill"}) : store.open_writer(run);
    int64_t step = store.summary(writer->id()).last_checkpoint_step.value_or(0);
    std::printf("run %s\n", writer->id().c_str());
    std::fflush(stdout);
    const std::jthread killer([life] {
      std::this_thread::sleep_for(life);
      die();
    });
    writer->begin_session(step + 1);
    for (;;) {
      UpdateRow row;
      row.step = ++step;
      row.tokens = step * 10;
      row.loss = static_cast<double>(step);
      writer->set_live({.state = RunStatus::Running, .phase = "micro-step", .step = step});
      writer->add_update(row);
      if (step % 100 == 0)
        writer->add_checkpoint({.step = step, .path = "none", .bytes = 1, .complete = true});
      std::printf("row %lld %lld\n", static_cast<long long>(step), static_cast<long long>(wall_clock_ms()));
      std::fflush(stdout);
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
