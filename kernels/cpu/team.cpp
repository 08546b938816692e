#include "kernels/cpu/team.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "kernels/api/error.h"

namespace lathe::cpu {

namespace {

constexpr size_t kAlignment = 64;  // a cache line, and the widest vector

int resolved_threads(int requested) {
  if (requested > 0) return requested;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

void* Scratch::reserve(size_t bytes) {
  if (memory_.size() < bytes + kAlignment) memory_ = std::vector<std::byte>(bytes + kAlignment);
  const auto address = reinterpret_cast<uintptr_t>(memory_.data());
  return memory_.data() + (kAlignment - address % kAlignment) % kAlignment;
}

Team::Team(int threads) {
  const int count = resolved_threads(threads);
  for (int i = 0; i < count; ++i) workers_.push_back(std::make_unique<Worker>());
  threads_.reserve(static_cast<size_t>(count - 1));
  try {
    for (int i = 1; i < count; ++i) {
      threads_.emplace_back([this, i] { thread_main(*workers_[static_cast<size_t>(i)]); });
    }
  } catch (const std::system_error& error) {
    join();
    throw Error(ErrorCode::Backend,
                "The system refused to start " + std::to_string(count) + " threads: " + error.what() + ".",
                "Set fewer threads.");
  }
}

Team::~Team() {
  join();
}

void Team::join() {
  stop_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::for_each(int64_t count, const Item& item) {
  item_ = &item;
  count_ = count;
  next_ = 0;
  const bool alone = count <= 1 || threads_.empty();
  if (!alone) {
    busy_ = static_cast<int>(threads_.size());
    ++round_;
    round_.notify_all();
  }
  work(*workers_[0]);
  if (!alone) {
    for (int busy = busy_; busy != 0; busy = busy_) busy_.wait(busy);
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Team::work(Worker& worker) {
  try {
    for (int64_t i = next_++; i < count_; i = next_++) (*item_)(i, worker);
  } catch (...) {
    next_ = count_;
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

void Team::thread_main(Worker& worker) {
  uint32_t seen = 0;
  for (;;) {
    round_.wait(seen);
    seen = round_;
    if (stop_) return;
    work(worker);
    if (--busy_ == 0) busy_.notify_one();
  }
}

}  // namespace lathe::cpu
