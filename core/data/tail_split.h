// Moves the end of a written training split to validation: for corpora of few, long documents, where no
// document's hash chose it. Private to core/data.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/data/manifest.h"

namespace lathe {

// Where the tail begins: the last document start that leaves at least `fraction` of the tokens after it;
// inside the last document when that tail were more than half of everything. 0 when there are too few tokens
// to split.
int64_t tail_begin(const std::filesystem::path& folder, const SplitEntry& train, double fraction);

// Writes train's tokens from `cut` on as the validation split of `folder` and cuts the training files off
// there. Both entries of `manifest` are brought up to date.
void move_tail(const std::filesystem::path& folder, DatasetManifest& manifest, int64_t cut,
               int64_t shard_tokens);

// Gives a split's files the names of the other split (when every document went to validation).
void rename_split(const std::filesystem::path& folder, DatasetManifest& manifest, Split from, Split to);

}  // namespace lathe
