// Work spread over threads whose results come out in the order of the input: one producer thread, N workers,
// and the calling thread as consumer. At most a fixed number of items is under way, so memory stays flat.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace lathe {

template <typename Item, typename Result>
class OrderedPipeline {
 public:
  using Emit = std::function<bool(Item&&)>;  // false: stop producing

  // produce(emit) runs on one thread; work(worker, item) on `workers`; consume(result) and tick() on the
  // caller's, tick() at least every 100 ms. The first exception in input order ends everything and is thrown
  // here.
  void run(int workers, const std::function<void(const Emit&)>& produce,
           const std::function<Result(int, Item&&)>& work, const std::function<void(Result&&)>& consume,
           const std::function<void()>& tick) {
    limit_ = static_cast<size_t>(workers) * 3 + 2;
    std::vector<std::jthread> threads;
    const Stopper stop_first{*this};  // whatever is thrown: threads are told to stop before they are joined
    threads.emplace_back([&] { produce_all(produce); });
    for (int i = 0; i < workers; ++i) threads.emplace_back([&, i] { work_all(i, work); });
    consume_all(consume, tick);
  }

 private:
  struct Stopper {
    OrderedPipeline& pipeline;
    ~Stopper() { pipeline.stop(); }
  };
  struct Outcome {
    std::optional<Result> result;
    std::exception_ptr failure;
  };

  void stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }

  void produce_all(const std::function<void(const Emit&)>& produce) {
    std::exception_ptr failure;
    try {
      produce([this](Item&& item) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopping_ || under_way_ < limit_; });
        if (stopping_) return false;
        ++under_way_;
        queue_.emplace_back(produced_++, std::move(item));
        changed_.notify_all();
        return true;
      });
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (failure) outcomes_[produced_++] = {std::nullopt, failure};  // comes after everything before it
    all_produced_ = true;
    changed_.notify_all();
  }

  void work_all(int worker, const std::function<Result(int, Item&&)>& work) {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !queue_.empty() || all_produced_; });
      if (stopping_ || queue_.empty()) return;
      auto [number, item] = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      Outcome outcome;
      try {
        outcome.result.emplace(work(worker, std::move(item)));
      } catch (...) {
        outcome.failure = std::current_exception();
      }
      lock.lock();
      outcomes_[number] = std::move(outcome);
      changed_.notify_all();
    }
  }

  void consume_all(const std::function<void(Result&&)>& consume, const std::function<void()>& tick) {
    for (int64_t next = 0;; ++next) {
      Outcome outcome;
      {
        std::unique_lock lock(mutex_);
        while (!outcomes_.contains(next)) {
          if (all_produced_ && next == produced_) return;
          changed_.wait_for(lock, std::chrono::milliseconds(100));
          lock.unlock();
          tick();
          lock.lock();
        }
        outcome = std::move(outcomes_.extract(next).mapped());
        --under_way_;
        changed_.notify_all();
      }
      if (outcome.failure) std::rethrow_exception(outcome.failure);
      consume(std::move(*outcome.result));
      tick();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<int64_t, Item>> queue_;
  std::map<int64_t, Outcome> outcomes_;
  size_t limit_ = 0;
  size_t under_way_ = 0;
  int64_t produced_ = 0;
  bool all_produced_ = false;
  bool stopping_ = false;
};

}  // namespace lathe
