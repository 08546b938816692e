// Copies between pageable host memory and the device through one ring of pinned memory, in stream order.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "kernels/cuda/check.h"

namespace lathe::cuda {

class PinnedRing {
 public:
  explicit PinnedRing(size_t bytes);

  // Enqueues a copy to the device; `source` may be reused at once. Blocks only while the ring is full.
  void upload(std::byte* destination, std::span<const std::byte> source, cudaStream_t stream);

  // Copies from the device after everything enqueued so far; returns when `destination` is filled.
  void download(const std::byte* source, std::span<std::byte> destination, cudaStream_t stream);

 private:
  struct Pending {  // bytes [begin, end) of the ring are in use until `done`
    size_t begin = 0, end = 0;
    EventHandle done;
  };

  // A free piece of the ring; waits for the copies that still use it.
  std::byte* reserve(size_t bytes);
  // Marks the piece just reserved as used by what was enqueued since.
  void enqueued(std::byte* piece, size_t bytes, cudaStream_t stream);
  EventHandle take_event();

  PinnedHandle memory_;
  size_t size_ = 0, next_ = 0;
  std::deque<Pending> pending_;
  std::vector<EventHandle> spare_events_;
};

}  // namespace lathe::cuda
