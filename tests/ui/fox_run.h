// A small run for tests that really train: a text of foxes, a model of one layer.
#pragma once

#include <filesystem>
#include <fstream>

#include "core/config/presets.h"
#include "core/data/dataset_builder.h"
#include "core/platform/files.h"

namespace lathe::ui {

// Builds the dataset HOME/foxes and returns a run on it.
inline RunConfig fox_run(const std::filesystem::path& home, int64_t updates) {
  {
    std::ofstream text(home / "text.txt");
    for (int i = 0; i < 200; ++i) text << "The quick brown fox number " << i << " jumps.\n<|endoftext|>\n";
  }
  BuildOptions options;
  options.inputs = {home / "text.txt"};
  options.train_vocab = 300;
  options.threads = 1;
  build_dataset(home / "foxes", options);
  RunConfig config = load_preset("tiny");
  config.data.sources = {{to_utf8(home / "foxes")}};
  config.model.layers = 1;
  config.model.vocab = 300;
  config.model.context = 32;
  config.batch.micro_batch = 2;
  config.schedule.warmup = 1;
  config.run.updates = updates;
  config.run.eval_every = 0;
  return config;
}

}  // namespace lathe::ui
