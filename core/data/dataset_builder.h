// From text files to a dataset folder: reads, trains or loads a tokenizer, encodes in parallel, writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/data/documents.h"
#include "core/data/manifest.h"

namespace lathe {

struct BuildOptions {
  std::vector<std::filesystem::path> inputs;       // files and folders
  std::optional<std::filesystem::path> tokenizer;  // a SentencePiece model; nothing: train one here
  int64_t train_vocab = 32000;
  int64_t sample_bytes = int64_t{64} << 20;  // of text that the tokenizer is trained on
  DocumentOptions documents{"text", {}, "<|endoftext|>", false};
  double validation_fraction = 0.01;
  bool replace = false;
  int threads = 0;  // 0: all cores
};

enum class BuildPhase { Sampling, TrainingTokenizer, Encoding, Finishing };

struct BuildProgress {
  BuildPhase phase = BuildPhase::Sampling;
  int64_t input_bytes_done = 0;  // on disk, of this phase
  int64_t input_bytes_total = 0;
  int64_t text_bytes = 0;  // uncompressed UTF-8 so far
  int64_t tokens = 0;
  double seconds = 0;  // of this phase
};

// Called about ten times a second and at every change of phase, on the calling thread; false stops with
// Cancelled.
using BuildWatcher = std::function<bool(const BuildProgress&)>;

struct BuildResult {
  DatasetManifest manifest;
  double encode_seconds = 0;
  int64_t cache_hits = 0, cache_misses = 0;  // of words
  bool cached = true;                        // false: this tokenizer can't be cached and was slower
};

// Builds the dataset folder `target`. Every document ends in EOS. Memory stays at a few tens of MiB a thread
// plus the tokenizer's sample, whatever the size of the input; the result is the same for any number of
// threads. Throws what its parts throw (bad input names file and line), Cancelled; nothing stays then.
BuildResult build_dataset(const std::filesystem::path& target, const BuildOptions& options,
                          const BuildWatcher& watcher = {});

}  // namespace lathe
