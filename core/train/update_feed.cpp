#include "core/train/update_feed.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lathe {

namespace {
constexpr size_t kAhead = 2;
}

void sort_rows_by_token(const std::vector<int32_t>& tokens, std::vector<int32_t>& order) {
  order.resize(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const int32_t token_a = tokens[static_cast<size_t>(a)], token_b = tokens[static_cast<size_t>(b)];
    return token_a != token_b ? token_a < token_b : a < b;
  });
}

UpdateFeed::UpdateFeed(WindowSampler& sampler, int64_t micro_batch, int64_t accumulation)
    : sampler_(sampler),
      micro_batch_(micro_batch),
      accumulation_(accumulation),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

UpdateFeed::~UpdateFeed() {
  thread_.request_stop();
  changed_.notify_all();
}

void UpdateFeed::assemble(UpdateBatch& batch) {
  const auto count = static_cast<size_t>(accumulation_);
  batch.micro.resize(count);
  batch.token_order.resize(count);
  batch.valid_tokens = batch.tokens = 0;
  for (size_t i = 0; i < count; ++i) {
    sampler_.next(micro_batch_, batch.micro[i]);
    sort_rows_by_token(batch.micro[i].tokens, batch.token_order[i]);
    batch.valid_tokens += batch.micro[i].valid_tokens;
    batch.tokens += static_cast<int64_t>(batch.micro[i].tokens.size());
  }
  batch.cursor_after = sampler_.cursor();
}

void UpdateFeed::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    UpdateBatch batch;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return ready_.size() < kAhead; })) return;
      if (!spare_.empty()) {
        batch = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    try {
      assemble(batch);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
      return;
    }
    const std::lock_guard lock(mutex_);
    ready_.push_back(std::move(batch));
    changed_.notify_all();
  }
}

UpdateBatch UpdateFeed::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !ready_.empty() || failure_; });
  if (ready_.empty()) std::rethrow_exception(failure_);
  UpdateBatch batch = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return batch;
}

void UpdateFeed::recycle(UpdateBatch batch) {
  const std::lock_guard lock(mutex_);
  if (spare_.size() < kAhead) spare_.push_back(std::move(batch));
}

}  // namespace lathe
