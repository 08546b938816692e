#include "core/train/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels/api/error.h"
#include "kernels/api/numerics.h"

namespace lathe {

int32_t sample_token(std::span<const float> logits, const SamplingSettings& settings, double draw) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto likelier = [&](int32_t a, int32_t b) {
    const float la = logits[static_cast<size_t>(a)], lb = logits[static_cast<size_t>(b)];
    return la != lb ? la > lb : a < b;
  };
  if (settings.temperature <= 0) return *std::min_element(ids.begin(), ids.end(), likelier);
  std::sort(ids.begin(), ids.end(), likelier);
  if (settings.top_k > 0) ids.resize(std::min(ids.size(), static_cast<size_t>(settings.top_k)));
  const double top = logits[static_cast<size_t>(ids.front())];
  std::vector<double> weights(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    weights[i] =
        std::exp((static_cast<double>(logits[static_cast<size_t>(ids[i])]) - top) / settings.temperature);
  }
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (settings.top_p < 1) {
    double held = 0;
    size_t kept = 0;
    while (kept < weights.size() && held < settings.top_p * total) held += weights[kept++];
    weights.resize(std::max<size_t>(kept, 1));
    total = std::accumulate(weights.begin(), weights.end(), 0.0);
  }
  double rest = draw * total;
  for (size_t i = 0; i < weights.size(); ++i) {
    rest -= weights[i];
    if (rest < 0) return ids[i];
  }
  return ids[weights.size() - 1];
}

Generator::Generator(const StepProgram& program, Executable& executable, int64_t vocab)
    : program_(program),
      executable_(executable),
      vocab_(vocab),
      context_(program.tensor(program.ports.prompt).shape[0]),
      raw_(static_cast<size_t>(program.tensor(program.ports.logits).bytes())),
      logits_(static_cast<size_t>(vocab)) {}

void Generator::read_logits(Ticket ticket) {
  executable_.wait(ticket, raw_);
  const DType dtype = program_.tensor(program_.ports.logits).dtype;
  for (size_t i = 0; i < logits_.size(); ++i) {
    if (dtype == DType::BF16) {
      Bf16 value;
      std::memcpy(&value, raw_.data() + 2 * i, 2);
      logits_[i] = to_float(value);
    } else if (dtype == DType::F32) {
      std::memcpy(&logits_[i], raw_.data() + 4 * i, 4);
    } else {
      double value = 0;
      std::memcpy(&value, raw_.data() + 8 * i, 8);
      logits_[i] = static_cast<float>(value);
    }
  }
}

void Generator::prefill(std::span<const int32_t> ids) {
  std::vector<int32_t> padded(ids.begin(), ids.end());
  padded.resize(static_cast<size_t>(context_),
                0);  // causal: rows behind the prompt change nothing before them
  const int32_t last = static_cast<int32_t>(ids.size()) - 1;
  executable_.write(program_.ports.prompt, std::as_bytes(std::span(padded)));
  executable_.write(program_.ports.position, std::as_bytes(std::span(&last, 1)));
  const TensorId fetch[] = {program_.ports.logits};
  read_logits(executable_.run(SequenceId::Prefill, fetch));
}

void Generator::decode(int32_t id, int64_t position) {
  const int32_t place = static_cast<int32_t>(position);
  executable_.write(program_.ports.next_token, std::as_bytes(std::span(&id, 1)));
  executable_.write(program_.ports.position, std::as_bytes(std::span(&place, 1)));
  const TensorId fetch[] = {program_.ports.logits};
  read_logits(executable_.run(SequenceId::Decode, fetch));
}

std::vector<int32_t> Generator::generate(std::vector<int32_t> ids, int64_t count, int32_t end_id,
                                         const SamplingSettings& settings,
                                         const std::function<bool(int32_t)>& on_token) {
  if (ids.empty()) throw Error(ErrorCode::InvalidArgument, "A prompt needs at least one token.");
  for (const int32_t id : ids) {
    if (id < 0 || id >= vocab_) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("Token {} lies outside the vocabulary of {}.", id, vocab_),
                  "Use the tokenizer of the run's dataset.");
    }
  }
  const auto keep_last = [&](int64_t n) {
    if (static_cast<int64_t>(ids.size()) > n) ids.erase(ids.begin(), ids.end() - n);
  };
  std::vector<int32_t> made;
  keep_last(context_);
  if (count > 0) prefill(ids);
  while (static_cast<int64_t>(made.size()) < count) {
    const PhiloxBlock block =
        philox4x32(PhiloxBlock{{static_cast<uint32_t>(made.size()), 0, 0, 0}},
                   static_cast<uint32_t>(settings.seed), static_cast<uint32_t>(settings.seed >> 32));
    const int32_t id = sample_token(logits_, settings, block.words[0] * 0x1p-32);
    made.push_back(id);
    if ((on_token && !on_token(id)) || id == end_id) break;
    if (static_cast<int64_t>(made.size()) == count) break;
    const int64_t position = static_cast<int64_t>(ids.size());
    ids.push_back(id);
    if (position < context_) {
      decode(id, position);
    } else {
      keep_last(std::max<int64_t>(context_ / 2, 1));
      prefill(ids);
    }
  }
  return made;
}

std::string generate_text(const StepProgram& program, Executable& executable, int64_t vocab,
                          const Tokenizer& tokenizer, const std::string& prompt, int64_t count,
                          const SamplingSettings& settings,
                          const std::function<bool(const std::string&)>& on_text) {
  std::vector<int32_t> ids;
  const int32_t eos = tokenizer.eos();
  if (prompt.empty()) {
    ids.push_back(eos >= 0 ? eos : tokenizer.unk());
  } else {
    ids = tokenizer.encode(prompt);
  }
  Generator generator(program, executable, vocab);
  StreamDecoder decoder(tokenizer);
  if (!prompt.empty()) {
    for (const int32_t id : ids) decoder.push(id);  // what follows a prompt keeps its leading space
  }
  std::string text;
  const auto push = [&](const std::string& piece) {
    text += piece;
    return piece.empty() || !on_text || on_text(piece);
  };
  generator.generate(std::move(ids), count, eos, settings, [&](int32_t id) {
    // A model may be wider than its tokenizer; such ids have no text.
    return id == eos || id >= tokenizer.vocab() || push(decoder.push(id));
  });
  push(decoder.finish());
  return text;
}

}  // namespace lathe
