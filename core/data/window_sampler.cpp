#include "core/data/window_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/data/permutation.h"
#include "core/data/window.h"
#include "core/platform/hash.h"
#include "kernels/api/error.h"

namespace lathe {

static void check_entry(const MixEntry& entry, int64_t vocab) {
  if (!entry.dataset) throw Error(ErrorCode::Internal, "A source of the data mix has no dataset.");
  if (!(entry.weight >= 0) || !std::isfinite(entry.weight)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("The source {} has the weight {}.", entry.name, entry.weight),
                "Give a weight of 0 or more.");
  }
  if (entry.from_tokens < 0) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("The source {} begins at {} tokens.", entry.name, entry.from_tokens),
                "Give a token count of 0 or more.");
  }
  if (entry.dataset->vocab() != vocab) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("The source {} has a vocabulary of {}, the first source one of {}.", entry.name,
                            entry.dataset->vocab(), vocab),
                "Build all datasets of a mix with one tokenizer.");
  }
}

WindowSampler::WindowSampler(std::vector<MixEntry> mix, int64_t context, int64_t seed) : context_(context) {
  if (context < 1) throw Error(ErrorCode::InvalidArgument, fmt::format("A context of {} tokens.", context));
  if (mix.empty()) {
    throw Error(ErrorCode::InvalidArgument, "No training data was given.", "Name at least one dataset.");
  }
  cursor_.context = context;
  cursor_.seed = seed;
  std::set<int64_t> changes;
  for (const MixEntry& entry : mix) {
    check_entry(entry, mix.front().dataset->vocab());
    changes.insert(entry.from_tokens);
    const bool known =
        std::any_of(sources_.begin(), sources_.end(), [&](auto& s) { return s.name == entry.name; });
    if (known) continue;
    Source source{entry.name, entry.dataset, 0, 0};
    source.windows_per_epoch = (entry.dataset->tokens(Split::Train) - 1) / context;
    if (source.windows_per_epoch < 1) {
      throw Error(
          ErrorCode::InvalidArgument,
          fmt::format("The dataset {} has {} training tokens, less than one window of {} (context + 1).",
                      entry.name, entry.dataset->tokens(Split::Train), context + 1),
          "Use more data or a shorter model.context.");
    }
    // By content, not by name or place in the list; the same data twice still gets two orders.
    const auto twins = std::count_if(sources_.begin(), sources_.end(),
                                     [&](auto& s) { return s.dataset->hash() == entry.dataset->hash(); });
    source.seed =
        mix64(hash64(entry.dataset->hash(), static_cast<uint64_t>(seed)) + static_cast<uint64_t>(twins));
    cursor_.sources.push_back({entry.name, entry.dataset->hash(), 0, 0});
    sources_.push_back(std::move(source));
  }
  for (const int64_t from : changes) {
    Phase phase{from, std::vector<double>(sources_.size(), 0.0)};
    if (!phases_.empty()) phase.weights = phases_.back().weights;
    for (const MixEntry& entry : mix) {
      if (entry.from_tokens != from) continue;
      const auto source =
          std::find_if(sources_.begin(), sources_.end(), [&](auto& s) { return s.name == entry.name; });
      phase.weights[static_cast<size_t>(source - sources_.begin())] = entry.weight;
    }
    phases_.push_back(std::move(phase));
  }
  if (phases_.front().from_tokens > 0) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("No source has a weight before {} tokens.", phases_.front().from_tokens),
                "Let at least one source begin at 0 tokens.");
  }
  for (Phase& phase : phases_) {
    double sum = 0;
    for (const double weight : phase.weights) sum += weight;
    if (!(sum > 0) || !std::isfinite(sum)) {
      throw Error(
          ErrorCode::InvalidArgument,
          fmt::format("From {} tokens on, the weights of the sources sum to {}.", phase.from_tokens, sum),
          "Give at least one source a weight above 0.");
    }
    for (double& weight : phase.weights) weight /= sum;
  }
}

size_t WindowSampler::phase_at(int64_t tokens) const {
  size_t phase = 0;
  while (phase + 1 < phases_.size() && phases_[phase + 1].from_tokens <= tokens) ++phase;
  return phase;
}

size_t WindowSampler::advance() {
  const size_t phase = phase_at(tokens_consumed());
  if (phase != phase_) {
    phase_ = phase;
    for (SourceCursor& source : cursor_.sources) source.windows_at_change = source.windows;
  }
  int64_t since_change = cursor_.windows;
  for (const SourceCursor& source : cursor_.sources) since_change -= source.windows_at_change;

  size_t best = sources_.size();
  double best_lag = 0;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const double weight = phases_[phase_].weights[i];
    if (weight == 0) continue;
    const int64_t taken = cursor_.sources[i].windows - cursor_.sources[i].windows_at_change;
    // fma: one rounding, whatever the compiler's contraction setting, so the order is the same everywhere.
    const double lag = std::fma(weight, static_cast<double>(since_change + 1), -static_cast<double>(taken));
    if (best == sources_.size() || lag > best_lag) {
      best = i;
      best_lag = lag;
    }
  }
  ++cursor_.sources[best].windows;
  ++cursor_.windows;
  return best;
}

int64_t WindowSampler::window_begin(int64_t source, int64_t epoch, int64_t place) const {
  const Source& from = sources_.at(static_cast<size_t>(source));
  const Permutation order(static_cast<uint64_t>(from.windows_per_epoch),
                          mix64(from.seed + static_cast<uint64_t>(epoch)));
  return static_cast<int64_t>(order(static_cast<uint64_t>(place))) * context_;
}

void WindowSampler::next(int64_t rows, Batch& batch) {
  resize_batch(batch, rows, context_);
  undo_ = cursor_;  // a member, so that its memory is used again
  const size_t phase_before = phase_;
  try {
    for (int64_t row = 0; row < rows; ++row) {
      const size_t i = advance();
      const Source& source = sources_[i];
      const int64_t window = cursor_.sources[i].windows - 1;
      const int64_t begin = window_begin(static_cast<int64_t>(i), window / source.windows_per_epoch,
                                         window % source.windows_per_epoch);
      fill_row(*source.dataset, Split::Train, begin, context_, row, context_, mask_, batch);
    }
  } catch (...) {
    cursor_ = undo_;  // a broken shard loses no position
    phase_ = phase_before;
    throw;
  }
}

void WindowSampler::skip(int64_t windows) {
  for (int64_t i = 0; i < windows; ++i) advance();
}

std::string WindowSampler::mismatch(const Cursor& cursor) const {
  if (cursor.context != context_) {
    return fmt::format("it was taken with a context of {} tokens, this run has {}", cursor.context, context_);
  }
  if (cursor.seed != cursor_.seed) {
    return fmt::format("it was taken with data.shuffle_seed {}, this run has {}", cursor.seed, cursor_.seed);
  }
  if (cursor.sources.size() != sources_.size()) {
    return fmt::format("it holds {} sources, this run has {}", cursor.sources.size(), sources_.size());
  }
  int64_t sum = 0;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const SourceCursor& source = cursor.sources[i];
    if (source.dataset_hash != sources_[i].dataset->hash()) {
      return fmt::format("source {} was {} with other content than {} has now", i + 1, source.name,
                         sources_[i].name);
    }
    if (source.windows < 0 || source.windows_at_change < 0 || source.windows_at_change > source.windows ||
        source.windows > cursor.windows - sum) {
      return fmt::format("its counts for {} contradict each other", source.name);
    }
    sum += source.windows;
  }
  if (sum != cursor.windows) return "its counts don't add up";
  // Far beyond any run, and far from where the token count would overflow.
  if (cursor.windows > (int64_t{1} << 60) / context_) return "its counts are impossible";
  return {};
}

void WindowSampler::seek(const Cursor& cursor) {
  if (const std::string why = mismatch(cursor); !why.empty()) {
    throw Error(
        ErrorCode::InvalidArgument, fmt::format("The data position doesn't belong to this run: {}.", why),
        "Use the data, context and shuffle seed that the run was started with, or start its data anew.");
  }
  for (size_t i = 0; i < sources_.size(); ++i) {
    cursor_.sources[i].windows = cursor.sources[i].windows;
    cursor_.sources[i].windows_at_change = cursor.sources[i].windows_at_change;
  }
  cursor_.windows = cursor.windows;
  // The phase in force when the last window was taken; advance() notices when the next one begins another.
  phase_ = cursor.windows == 0 ? 0 : phase_at((cursor.windows - 1) * context_);
}

std::vector<WindowSampler::SourceState> WindowSampler::sources() const {
  std::vector<SourceState> states;
  const size_t phase = phase_at(tokens_consumed());
  for (size_t i = 0; i < sources_.size(); ++i) {
    const int64_t windows = cursor_.sources[i].windows;
    const int64_t per_epoch = sources_[i].windows_per_epoch;
    states.push_back({sources_[i].name, phases_[phase].weights[i], windows / per_epoch, windows % per_epoch,
                      per_epoch, windows * context_});
  }
  return states;
}

}  // namespace lathe
