// interrupt.h for Windows: a console control handler, which runs in a thread of its own.
#include <windows.h>

#include <atomic>

#include "core/platform/interrupt.h"

namespace lathe {

static std::atomic<int> interrupt_count{0};
static std::atomic<bool> watcher_lives{false};

static BOOL WINAPI count_interrupt(DWORD event) {
  interrupt_count.fetch_add(1);
  if (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT) return TRUE;
  // Closing, log-off, shutdown: the system ends the process as soon as this returns. Give the loop its time.
  for (int i = 0; i < 100 && watcher_lives.load(); ++i) Sleep(50);
  return TRUE;
}

InterruptWatcher::InterruptWatcher() {
  interrupt_count.store(0);
  watcher_lives.store(true);
  SetConsoleCtrlHandler(count_interrupt, TRUE);
}

InterruptWatcher::~InterruptWatcher() {
  SetConsoleCtrlHandler(count_interrupt, FALSE);
  watcher_lives.store(false);
}

int InterruptWatcher::count() const {
  return interrupt_count.load();
}

}  // namespace lathe
