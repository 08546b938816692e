#include "kernels/cuda/transfer.h"

#include <algorithm>
#include <cstring>

namespace lathe::cuda {

PinnedRing::PinnedRing(size_t bytes) : memory_(make_pinned(bytes)), size_(bytes) {}

EventHandle PinnedRing::take_event() {
  if (spare_events_.empty()) return make_event(false);
  EventHandle event = std::move(spare_events_.back());
  spare_events_.pop_back();
  return event;
}

std::byte* PinnedRing::reserve(size_t bytes) {
  if (next_ + bytes > size_) next_ = 0;
  const size_t begin = next_, end = begin + bytes;
  const auto overlaps = [&](const Pending& p) { return p.begin < end && begin < p.end; };
  // Pieces are used in ring order: what overlaps stands at the front, or behind pieces that are older still.
  while (std::any_of(pending_.begin(), pending_.end(), overlaps)) {
    check(cudaEventSynchronize(pending_.front().done.get()), "waiting for a copy");
    spare_events_.push_back(std::move(pending_.front().done));
    pending_.pop_front();
  }
  next_ = end;
  return static_cast<std::byte*>(memory_.get()) + begin;
}

void PinnedRing::enqueued(std::byte* piece, size_t bytes, cudaStream_t stream) {
  EventHandle done = take_event();
  check(cudaEventRecord(done.get(), stream), "marking a copy");
  const size_t begin = static_cast<size_t>(piece - static_cast<std::byte*>(memory_.get()));
  pending_.push_back({begin, begin + bytes, std::move(done)});
}

void PinnedRing::upload(std::byte* destination, std::span<const std::byte> source, cudaStream_t stream) {
  while (!source.empty()) {
    const size_t bytes = std::min(source.size(), size_ / 4);
    std::byte* piece = reserve(bytes);
    std::memcpy(piece, source.data(), bytes);
    check(cudaMemcpyAsync(destination, piece, bytes, cudaMemcpyHostToDevice, stream),
          "copying to the device");
    enqueued(piece, bytes, stream);
    destination += bytes;
    source = source.subspan(bytes);
  }
}

void PinnedRing::download(const std::byte* source, std::span<std::byte> destination, cudaStream_t stream) {
  struct Piece {
    const std::byte* from = nullptr;
    std::span<std::byte> to;
    EventHandle done;
  };
  Piece previous;
  const auto finish = [&] {
    if (!previous.done) return;
    check(cudaEventSynchronize(previous.done.get()), "copying from the device");
    std::memcpy(previous.to.data(), previous.from, previous.to.size());
    spare_events_.push_back(std::move(previous.done));
  };
  while (!destination.empty()) {  // one piece is on its way while the one before is copied out
    const size_t bytes = std::min(destination.size(), size_ / 4);
    std::byte* piece = reserve(bytes);
    check(cudaMemcpyAsync(piece, source, bytes, cudaMemcpyDeviceToHost, stream), "copying from the device");
    EventHandle done = take_event();
    check(cudaEventRecord(done.get(), stream), "marking a copy");
    finish();
    previous = {piece, destination.first(bytes), std::move(done)};
    source += bytes;
    destination = destination.subspan(bytes);
  }
  finish();
}

}  // namespace lathe::cuda
