// Small datasets, tokenizers and files for the tests of core/data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/dataset_builder.h"
#include "core/data/tokenizer.h"

namespace lathe::testing {

void write_bytes(const std::filesystem::path& path, std::string_view bytes);

std::string gzip(std::string_view text);
std::string zstd(std::string_view text);

// English prose: the sample corpus, decompressed once.
const std::string& sample_corpus();

// BPE of 512 pieces, trained once on a part of the sample corpus.
const Tokenizer& small_tokenizer();
std::filesystem::path small_tokenizer_file();  // the same as a file

// A dataset of these documents under the small tokenizer, through the real builder.
DatasetManifest build_dataset_of(const std::filesystem::path& target,
                                 const std::vector<std::string>& documents, double validation_fraction = 0);

// Token files as other trainers write them.
std::string nanogpt_file(const std::vector<int32_t>& ids);
std::string llmc_file(const std::vector<int32_t>& ids);   // GPT-2
std::string llmc3_file(const std::vector<int32_t>& ids);  // Llama 3
std::string llmq_file(const std::vector<int32_t>& ids, int32_t vocab, const std::vector<uint8_t>& mask);

}  // namespace lathe::testing
