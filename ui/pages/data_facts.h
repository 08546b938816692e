// What Data shows of a dataset, read on a worker: plain values.
#pragma once

#include <QString>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/config/run_config.h"
#include "core/data/manifest.h"

namespace lathe::ui {

// Documents by length: bin i counts those of 2^i to 2^(i+1) - 1 tokens.
struct LengthHistogram {
  std::vector<int64_t> bins;
  int64_t documents = 0;  // counted: all, or an even sample of them
  int64_t shortest = 0, longest = 0;
  double mean = 0;
  int64_t median = 0;
  bool sampled = false;
};

struct DatasetFacts {
  std::filesystem::path folder;
  DatasetManifest manifest;
  QString hash;
  int64_t bytes = 0;  // of the token files on disk
  LengthHistogram lengths;
};

// One row of text with the borders of its tokens.
struct TokenText {
  struct Piece {
    QString text;  // as read: a word's leading space is a space
    int32_t id = 0;
    bool counts = true;  // as a target in the loss
    bool begins_document = false;
  };
  std::vector<Piece> pieces;
  QString where;  // "window 12 of 4,031: tokens 49,152 to 53,247 of the training split, document 17"
};

// Throws what Dataset throws.
DatasetFacts read_dataset_facts(const std::filesystem::path& folder);

// `context` tokens of a window, as a sampler cuts them, at most 4096 of them shown.
TokenText read_window(const std::filesystem::path& folder, Split split, int64_t window, int64_t context);
int64_t window_count(const SplitEntry& split, int64_t context);

// Row `row` of micro-step `micro_step` (both from 0) of the run's first update: the very tokens the trainer
// uploads. Throws what open_training_data throws.
TokenText read_first_batch(const RunConfig& config, int64_t micro_step, int64_t row);

}  // namespace lathe::ui
