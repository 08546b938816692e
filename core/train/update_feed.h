// Assembles the batches of whole updates ahead of the training loop, on a thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/data/window_sampler.h"

namespace lathe {

// All micro-batches of one update. The whole window is sampled at once because the loss is divided by all its
// valid tokens (law 7), which the first micro-step must already know.
struct UpdateBatch {
  std::vector<Batch> micro;
  std::vector<std::vector<int32_t>> token_order;  // rows of each micro-batch by token, then by row
  int64_t valid_tokens = 0;
  int64_t tokens = 0;   // nominal
  Cursor cursor_after;  // where the sampler stands behind this update
};

class UpdateFeed {
 public:
  // Owns the sampler's position until destroyed: `sampler` must not be touched meanwhile.
  UpdateFeed(WindowSampler& sampler, int64_t micro_batch, int64_t accumulation);
  ~UpdateFeed();

  // The next update; waits for it when the thread is behind. Rethrows what reading the data threw.
  UpdateBatch next();

  // Gives a used batch back so that its memory serves again.
  void recycle(UpdateBatch batch);

 private:
  void assemble(UpdateBatch& batch);
  void work(const std::stop_token& stop);

  WindowSampler& sampler_;
  int64_t micro_batch_, accumulation_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<UpdateBatch> ready_;
  std::vector<UpdateBatch> spare_;
  std::exception_ptr failure_;
  std::jthread thread_;  // last: joins before the rest goes
};

// Rows of `tokens` sorted by token, then by row: what EmbeddingBackward walks.
void sort_rows_by_token(const std::vector<int32_t>& tokens, std::vector<int32_t>& order);

}  // namespace lathe
