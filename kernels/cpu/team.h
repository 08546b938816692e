// The threads of one executable and their scratch memory. Work is cut into items by shape alone, never by the
// number of threads, so that results don't depend on who computes what.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lathe::cpu {

// Memory that grows to the largest request and stays; 64-byte aligned, contents undefined.
class Scratch {
 public:
  template <class T>
  T* get(int64_t count) {
    return static_cast<T*>(reserve(static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  void* reserve(size_t bytes);
  std::vector<std::byte> memory_;
};

// What an item may use while it runs: each numbered scratch belongs to the thread that runs it.
struct Worker {
  static constexpr int kScratches = 8;
  Scratch scratch[kScratches];

  template <class T>
  T* buffer(int index, int64_t count) {
    return scratch[index].get<T>(count);
  }
};

class Team {
 public:
  using Item = std::function<void(int64_t item, Worker& worker)>;

  // `threads` 0: one per core.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const { return static_cast<int>(workers_.size()); }

  // Runs item(0) … item(count - 1), in any order, on all threads, and returns when all are done. The first
  // exception of an item is thrown again here; items not yet begun are then dropped.
  void for_each(int64_t count, const Item& item);

  // Cuts 0 … count - 1 into ranges of `grain` and runs body(begin, end, worker) on each.
  template <class Body>
  void for_ranges(int64_t count, int64_t grain, const Body& body) {
    for_each((count + grain - 1) / grain, [&](int64_t range, Worker& worker) {
      const int64_t begin = range * grain;
      body(begin, begin + grain < count ? begin + grain : count, worker);
    });
  }

  // Scratch for results of items that are combined after for_each(); valid until the next call.
  template <class T>
  T* shared(int64_t count) {
    return shared_.get<T>(count);
  }

 private:
  void join();
  void work(Worker& worker);
  void thread_main(Worker& worker);

  std::vector<std::unique_ptr<Worker>> workers_;  // [0] is the caller's
  Scratch shared_;
  std::vector<std::thread> threads_;

  const Item* item_ = nullptr;
  int64_t count_ = 0;
  std::atomic<int64_t> next_{0};
  std::atomic<uint32_t> round_{0};  // raised once per for_each(); helpers wait for it
  std::atomic<int> busy_{0};        // helpers that haven't finished this round
  std::atomic<bool> stop_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace lathe::cpu
