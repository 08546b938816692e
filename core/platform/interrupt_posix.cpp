// interrupt.h for POSIX: sigaction.
#include <csignal>

#include <array>
#include <atomic>

#include "core/platform/interrupt.h"

namespace lathe {

namespace {

// A handler can reach nothing but globals; lock-free atomics are what it may touch.
std::atomic<int> interrupt_count{0};
static_assert(std::atomic<int>::is_always_lock_free);

constexpr std::array watched_signals = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, watched_signals.size()> former_actions;

void count_interrupt(int) {
  interrupt_count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

InterruptWatcher::InterruptWatcher() {
  interrupt_count.store(0);
  struct sigaction action {};
  action.sa_handler = count_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < watched_signals.size(); ++i) {
    sigaction(watched_signals[i], nullptr, &former_actions[i]);
    // What was started with a signal ignored (nohup) stays so.
    if (former_actions[i].sa_handler != SIG_IGN) sigaction(watched_signals[i], &action, nullptr);
  }
}

InterruptWatcher::~InterruptWatcher() {
  for (size_t i = 0; i < watched_signals.size(); ++i)
    sigaction(watched_signals[i], &former_actions[i], nullptr);
}

int InterruptWatcher::count() const {
  return interrupt_count.load(std::memory_order_relaxed);
}

}  // namespace lathe
