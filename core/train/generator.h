// Writes text with the model: prefill of the prompt, then one token at a time from the KV cache.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/data/tokenizer.h"
#include "kernels/api/backend.h"

namespace lathe {

struct SamplingSettings {
  double temperature = 0.8;  // 0: always the likeliest token
  int64_t top_k = 0;         // choose among the k likeliest; 0: all
  double top_p = 0.95;       // and among the fewest that hold this probability; 1: all
  uint64_t seed = 1;
};

// The id drawn from the logits of `vocab` tokens; `draw` in [0, 1) is the random number. Ties go to the
// smaller id.
int32_t sample_token(std::span<const float> logits, const SamplingSettings& settings, double draw);

class Generator {
 public:
  // The program must hold Prefill and Decode; `vocab` is the model's without padding.
  Generator(const StepProgram& program, Executable& executable, int64_t vocab);

  // Continues `prompt` (at least one id) by up to `count` ids, stopping behind `end_id` (-1: never). When the
  // context is full it goes on from its last half. Each id is handed to `on_token` as it comes; returning
  // false ends it. Throws InvalidArgument for an empty prompt or an id outside the vocabulary.
  std::vector<int32_t> generate(std::vector<int32_t> prompt, int64_t count, int32_t end_id,
                                const SamplingSettings& settings,
                                const std::function<bool(int32_t)>& on_token = {});

 private:
  void prefill(std::span<const int32_t> ids);
  void decode(int32_t id, int64_t position);
  void read_logits(Ticket ticket);

  const StepProgram& program_;
  Executable& executable_;
  int64_t vocab_, context_;
  std::vector<std::byte> raw_;
  std::vector<float> logits_;
};

// Prompt text to continuation text. An empty prompt starts a document (behind EOS).
std::string generate_text(const StepProgram& program, Executable& executable, int64_t vocab,
                          const Tokenizer& tokenizer, const std::string& prompt, int64_t count,
                          const SamplingSettings& settings,
                          const std::function<bool(const std::string&)>& on_text = {});

}  // namespace lathe
