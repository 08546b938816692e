#include "core/data/dataset_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/data/split_writer.h"
#include "core/data/tail_split.h"
#include "core/platform/hash.h"
#include "core/platform/process.h"
#include "kernels/api/error.h"

namespace lathe {

namespace fs = std::filesystem;

static constexpr const char* temporary_mark = ".building-";
static constexpr const char* lock_file = "lock";

static fs::path with_suffix(fs::path path, const std::string& suffix) {
  path += suffix;
  return path;
}

DatasetWriter::DatasetWriter(const fs::path& target, DatasetManifest manifest, const WriterOptions& options)
    : target_(fs::absolute(target).lexically_normal()), manifest_(std::move(manifest)), options_(options) {
  if (!target_.has_filename()) target_ = target_.parent_path();  // "name/"
  if (!(options.validation_fraction >= 0 && options.validation_fraction < 1)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("A validation fraction of {}.", options.validation_fraction),
                "Give a number from 0 to below 1, such as 0.01.");
  }
  std::error_code error;
  if (fs::exists(target_, error) && !(fs::is_directory(target_, error) && fs::is_empty(target_, error))) {
    if (!options.replace) {
      throw Error(ErrorCode::InvalidArgument, fmt::format("{} exists already.", to_utf8(target_)),
                  "Choose another name, or pass --replace to build it anew.");
    }
    if (!fs::exists(target_ / DatasetManifest::file_name, error)) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("{} exists and is not a dataset, so it is not replaced.", to_utf8(target_)),
                  "Choose another name, or remove it yourself.");
    }
  }
  fs::create_directories(target_.parent_path(), error);
  remove_leftovers();
  folder_ = with_suffix(target_, temporary_mark + unique_name());
  if (!fs::create_directory(folder_, error)) {
    throw Error(ErrorCode::Io, fmt::format("Could not create {}: {}.", to_utf8(folder_), error.message()),
                "Check that you may write there.");
  }
  manifest_.bytes_per_token = manifest_.vocab <= 65536 ? 2 : 4;
  manifest_.validation_fraction = options.validation_fraction;
  try {
    lock_ = FileLock::try_acquire(folder_ / lock_file);
  } catch (const Error& failure) {
    // A file system without locks can hold a dataset; only its leftovers can't be told from work in progress.
    if (failure.code() != ErrorCode::Unsupported) throw;
  }
  for (const Split split : {Split::Train, Split::Validation}) {
    splits_[static_cast<size_t>(split)] = std::make_unique<SplitWriter>(
        folder_, split, manifest_.bytes_per_token, options.loss_mask, options.shard_tokens);
  }
}

DatasetWriter::~DatasetWriter() {
  if (finished_) return;
  for (auto& split : splits_) split.reset();  // Windows can't remove open files
  lock_.reset();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void DatasetWriter::remove_leftovers() const {
  const std::string prefix = to_utf8(target_.filename()) + temporary_mark;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(target_.parent_path(), error)) {
    if (!to_utf8(entry.path().filename()).starts_with(prefix)) continue;
    const fs::path lock = entry.path() / lock_file;
    if (fs::exists(lock, error) && !FileLock::is_held(lock)) fs::remove_all(entry.path(), error);
  }
}

void DatasetWriter::add(const TokenPart& part, std::optional<Split> forced) {
  const bool goes_on = part.continues && open_.has_value();
  Split split = Split::Train;
  if (forced) {
    split = *forced;
  } else if (goes_on && part.ids.size() < 64) {
    split = *open_;
  } else if (std::ldexp(static_cast<double>(part.content_hash), -64) < options_.validation_fraction) {
    split = Split::Validation;
  }
  SplitWriter& writer = *splits_[static_cast<size_t>(split)];
  if (goes_on && *open_ != split && manifest_.eos >= 0) {
    const auto eos = static_cast<int32_t>(manifest_.eos);
    splits_[static_cast<size_t>(*open_)]->add({&eos, 1}, {});
  }
  if (!part.ids.empty()) {
    if (!goes_on || *open_ != split) writer.begin_document();
    writer.add(part.ids, part.mask);
    open_ = split;
  }
  if (part.ends) open_.reset();
}

int64_t DatasetWriter::tokens() const {
  return splits_[0]->tokens() + splits_[1]->tokens();
}

void DatasetWriter::balance() {
  if (manifest_.train.tokens == 0) rename_split(folder_, manifest_, Split::Validation, Split::Train);
  if (manifest_.validation.tokens > 0 || options_.validation_fraction <= 0) return;
  const int64_t cut = tail_begin(folder_, manifest_.train, options_.validation_fraction);
  if (cut > 0) move_tail(folder_, manifest_, cut, options_.shard_tokens);
}

DatasetManifest DatasetWriter::finish(const std::string& tokenizer_model) {
  if (tokens() == 0) {
    throw Error(ErrorCode::InvalidArgument, "The input holds no text: no token came out of it.",
                "Check the input files.");
  }
  for (const Split split : {Split::Train, Split::Validation}) {
    manifest_[split] = splits_[static_cast<size_t>(split)]->close();
  }
  balance();
  if (!tokenizer_model.empty()) {
    write_file_atomically(folder_ / DatasetManifest::tokenizer_file, tokenizer_model);
    manifest_.tokenizer_hash = hash_hex(tokenizer_model);
  }
  manifest_.created = utc_text(wall_clock_ms());
  lock_.reset();
  std::error_code error;
  fs::remove(folder_ / lock_file, error);
  write_file_atomically(folder_ / DatasetManifest::file_name, manifest_to_json(manifest_).dump(2) + "\n");

  fs::path old;
  if (fs::exists(target_, error)) {
    old = with_suffix(target_, ".old-" + unique_name());
    rename_path(target_, old);
  }
  try {
    rename_path(folder_, target_);
  } catch (...) {
    if (!old.empty()) fs::rename(old, target_, error);
    throw;
  }
  finished_ = true;
  sync_folder(target_.parent_path());
  if (!old.empty()) fs::remove_all(old, error);
  return manifest_;
}

}  // namespace lathe
