// Brings token files of other trainers into a dataset folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "core/data/manifest.h"
#include "core/data/token_files.h"

namespace lathe {

struct ImportOptions {
  TokenFormat format = TokenFormat::NanoGpt;
  std::vector<std::filesystem::path> files = {};
  std::vector<std::filesystem::path> validation_files =
      {};                                               // all of it validation; then `files` are all training
  std::optional<std::filesystem::path> tokenizer = {};  // SentencePiece model the tokens were made with
  int64_t vocab = 0;                                    // 0: the tokenizer's, the header's or the format's
  std::optional<int64_t> eos = {};  // the id between documents; -1: none, a file is one document
  double validation_fraction = 0.01;
  bool replace = false;
};

// Document boundaries are found by the end-of-text id, which ends a document (nanoGPT, LLMQ) or begins one
// (llm.c). A document longer than 1 Mi tokens is split between training and validation in parts of that size.
// progress(done_bytes, total_bytes) false stops with Cancelled. Throws what TokenFile throws; InvalidArgument
// when nobody says the size of the vocabulary, or files with and without loss mask are mixed. Nothing stays
// then.
DatasetManifest import_tokens(const std::filesystem::path& target, const ImportOptions& options,
                              const std::function<bool(int64_t, int64_t)>& progress = {});

}  // namespace lathe
