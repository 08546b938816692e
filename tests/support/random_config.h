// Random valid configurations, small enough to run, that reach every branch of the program builder.
#pragma once

#include <random>

#include "core/config/run_config.h"

namespace lathe::testing {

inline RunConfig small_config() {
  RunConfig config;
  config.model.layers = 2;
  config.model.hidden = 32;
  config.model.heads = 4;
  config.model.head_dim = 8;
  config.model.ffn = 48;
  config.model.vocab = 61;
  config.model.vocab_pad = 8;
  config.model.context = 16;
  config.batch.micro_batch = 2;
  config.batch.accumulation = 2;
  config.precision.compute = Compute::Fp32;
  config.precision.weights = Storage::Fp32;
  config.precision.gradients = Storage::Fp32;
  config.memory.recompute.levels = {RecomputeLevel::None};
  config.memory.loss_chunk_tokens = {false, 0};
  return config;
}

inline RunConfig random_config(std::mt19937_64& random) {
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const auto coin = [&] { return pick(0, 1) == 1; };
  RunConfig config = small_config();
  config.model.layers = pick(1, 4);
  config.model.kv_heads = pick(1, 2) == 1 ? 1 : 2;
  config.model.heads = config.model.kv_heads * pick(1, 3);
  config.model.head_dim = 8 * pick(1, 3);
  config.model.hidden = 8 * pick(1, 8);
  config.model.ffn = 8 * pick(1, 9);
  config.model.vocab = pick(17, 200);
  config.model.vocab_pad = coin() ? 1 : 64;
  config.model.context = pick(3, 40);
  config.model.tied_embeddings = coin();
  config.model.qk_norm = coin();
  config.attention.document_mask = coin();
  config.batch.micro_batch = pick(1, 3);
  config.loss.z_loss = coin() ? 1e-3 : 0;
  config.run.sample_every = coin() ? 10 : 0;
  config.run.eval_every = coin() ? 10 : 0;
  config.memory.loss_chunk_tokens = {false, coin() ? pick(1, 30) : 0};
  config.memory.recompute.levels.clear();
  for (int64_t layer = 0; layer < config.model.layers; ++layer) {
    config.memory.recompute.levels.push_back(static_cast<RecomputeLevel>(pick(0, 5)));
  }
  if (coin()) {
    config.precision.compute = Compute::Bf16;
    config.precision.weights = Storage::Bf16;
    config.precision.master = static_cast<Master>(pick(0, 2));
    config.precision.gradients = coin() ? Storage::Bf16 : Storage::Fp32;
    config.optimizer.state = static_cast<State>(pick(0, 2));
  }
  return config;
}

}  // namespace lathe::testing
