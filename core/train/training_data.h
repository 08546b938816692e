// A run's data, opened: the sampler over its mix, its validation sets, and the tokenizer they share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/config/run_config.h"
#include "core/data/tokenizer.h"
#include "core/data/validation_set.h"
#include "core/data/window_sampler.h"

namespace lathe {

struct TrainingData {
  std::unique_ptr<WindowSampler> sampler;
  std::vector<ValidationSet> validation;
  std::shared_ptr<const Tokenizer> tokenizer;  // null when no dataset brings one
};

// Opens every dataset the settings name. Throws NotFound, CorruptFile, InvalidConfig (a vocabulary larger
// than the model's, datasets of different tokenizers, none with a validation split while eval_every is set).
TrainingData open_training_data(const RunConfig& config);

// Every source's share of the tokens, one line each, for the log.
std::string describe_sources(const WindowSampler& sampler);

}  // namespace lathe
