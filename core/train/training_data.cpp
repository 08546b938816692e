#include "core/train/training_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/data/dataset.h"
#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {

namespace {

std::shared_ptr<const Dataset> open_dataset(const std::string& path, const RunConfig& config,
                                            std::map<std::string, std::shared_ptr<const Dataset>>& opened) {
  auto& entry = opened[path];
  if (!entry) {
    entry = std::make_shared<const Dataset>(from_utf8(path));
    if (entry->vocab() > config.model.vocab) {
      throw Error(
          ErrorCode::InvalidConfig,
          fmt::format("{} has {} token ids, the model only {}.", path, entry->vocab(), config.model.vocab),
          fmt::format("Set model.vocab={} (or more).", entry->vocab()));
    }
  }
  return entry;
}

}  // namespace

TrainingData open_training_data(const RunConfig& config) {
  TrainingData data;
  std::map<std::string, std::shared_ptr<const Dataset>> opened;
  std::vector<MixEntry> mix;
  for (const DataSource& source : config.data.sources) {
    mix.push_back(
        {source.path, open_dataset(source.path, config, opened), source.weight, source.from_tokens});
  }
  std::vector<std::string> validation = config.data.validation;
  if (validation.empty()) {
    for (const auto& [path, dataset] : opened) {
      if (dataset->tokens(Split::Validation) > 0) validation.push_back(path);
    }
    if (validation.empty() && config.run.eval_every > 0) {
      throw Error(
          ErrorCode::InvalidConfig, "No dataset of this run has a validation split.",
          "Build one with --validation-fraction, name one in data.validation, or set run.eval_every=0.");
    }
  }
  for (const std::string& path : validation) {
    const auto dataset = open_dataset(path, config, opened);
    const Split split = dataset->tokens(Split::Validation) > 0 ? Split::Validation : Split::Train;
    const bool trained_on = std::any_of(config.data.sources.begin(), config.data.sources.end(),
                                        [&](const DataSource& source) { return source.path == path; });
    if (split == Split::Train && trained_on) {
      throw Error(ErrorCode::InvalidConfig,
                  fmt::format("{} is trained on and has no validation split.", path),
                  "Validation must not overlap training: build it with --validation-fraction.");
    }
    const std::string name = to_utf8(from_utf8(path).filename());
    data.validation.emplace_back(name.empty() ? path : name, dataset, config.model.context,
                                 config.run.eval_tokens, split);
  }
  std::string tokenizer_of, tokenizer_hash;
  for (const auto& [path, dataset] : opened) {
    const auto file = dataset->tokenizer_path();
    if (!file) continue;
    auto tokenizer = std::make_shared<const Tokenizer>(*file);
    if (!data.tokenizer) {
      tokenizer_of = path, tokenizer_hash = tokenizer->hash();
      data.tokenizer = std::move(tokenizer);
    } else if (tokenizer->hash() != tokenizer_hash) {
      throw Error(ErrorCode::InvalidConfig,
                  fmt::format("{} and {} use different tokenizers.", tokenizer_of, path),
                  "Build both with the same --tokenizer, so that an id means the same text everywhere.");
    }
  }
  data.sampler =
      std::make_unique<WindowSampler>(std::move(mix), config.model.context, config.data.shuffle_seed);
  return data;
}

std::string describe_sources(const WindowSampler& sampler) {
  std::string text;
  for (const WindowSampler::SourceState& source : sampler.sources()) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} {:.1f}%, epoch {} window {}/{}", source.name, 100 * source.weight,
                        source.epoch + 1, source.window, source.windows_per_epoch);
  }
  return text;
}

}  // namespace lathe
