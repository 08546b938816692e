// The order in which a run sees its data: a pure function of (seed, sources, position).
//
// Windows. A source's training stream of T tokens holds (T - 1) / context windows; window w is the context +
// 1 tokens from w * context on, so that every token is a target once an epoch. Order. In every epoch of a
// source its windows come in an order of their own: a keyed permutation (Feistel network with cycle walking),
// so that any position is computed, not remembered. Mix. Each next window goes to the source that lags most
// behind its share: the one with the largest weight * (n + 1) - taken, n windows after the last change of
// weights; ties go to the first. The share of every source is so never more than one window away from its
// weight (no randomness). A change of weights at a token count takes effect with the first window that starts
// at or after it.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/data/batch.h"
#include "core/data/dataset.h"

namespace lathe {

// One line of the mix: from `from_tokens` tokens of the run on, the dataset has this weight (relative to the
// weights of the others; 0 = paused). Several lines with the same name change one source's weight; before its
// first line a source has weight 0.
struct MixEntry {
  std::string name;  // what the user calls it: the path
  std::shared_ptr<const Dataset> dataset;
  double weight = 1;
  int64_t from_tokens = 0;
};

struct SourceCursor {
  std::string name;
  std::string dataset_hash;
  int64_t windows = 0;            // windows taken since the start of the run
  int64_t windows_at_change = 0;  // the same at the last change of weights
  bool operator==(const SourceCursor&) const = default;
};

struct Cursor {
  int64_t context = 0;
  int64_t seed = 0;
  int64_t windows = 0;  // of all sources
  std::vector<SourceCursor> sources;
  bool operator==(const Cursor&) const = default;
};

nlohmann::json cursor_to_json(const Cursor& cursor);
Cursor cursor_from_json(const nlohmann::json& json);  // throws CorruptFile

class WindowSampler {
 public:
  // Throws InvalidArgument for context < 1, no entry, negative weights, a stretch of the run without any
  // weight; CorruptFile/InvalidArgument for a dataset smaller than one window or of another vocabulary.
  WindowSampler(std::vector<MixEntry> mix, int64_t context, int64_t seed);

  // The next `rows` windows. Allocates only when `batch` must grow.
  void next(int64_t rows, Batch& batch);

  // Passes over windows without reading them (skipping data after a roll-back).
  void skip(int64_t windows);

  const Cursor& cursor() const { return cursor_; }

  // Goes where `cursor` was taken. Throws InvalidArgument when it belongs to other data, another context or
  // another seed, saying which.
  void seek(const Cursor& cursor);

  // Why seek() would refuse, or an empty text.
  std::string mismatch(const Cursor& cursor) const;

  int64_t context() const { return context_; }
  int64_t tokens_consumed() const { return cursor_.windows * context_; }

  struct SourceState {
    std::string name;
    double weight = 0;   // now, normalised to a sum of 1
    int64_t epoch = 0;   // 0 is the first
    int64_t window = 0;  // next window's place in the epoch
    int64_t windows_per_epoch = 0;
    int64_t tokens = 0;  // consumed from this source
  };
  std::vector<SourceState> sources() const;

  // Stream position of the first token of a source's `place`-th window in `epoch`: the permutation, for tests
  // and for showing where a batch came from.
  int64_t window_begin(int64_t source, int64_t epoch, int64_t place) const;

 private:
  struct Source {
    std::string name;
    std::shared_ptr<const Dataset> dataset;
    int64_t windows_per_epoch = 0;
    uint64_t seed = 0;
  };
  struct Phase {
    int64_t from_tokens = 0;
    std::vector<double> weights;  // per source, sum 1
  };

  // Advances the cursor by one window and says which source it comes from.
  size_t advance();
  size_t phase_at(int64_t tokens) const;

  std::vector<Source> sources_;
  std::vector<Phase> phases_;
  int64_t context_ = 0;
  Cursor cursor_;
  Cursor undo_;
  size_t phase_ = 0;
  std::vector<uint8_t> mask_;
};

}  // namespace lathe
