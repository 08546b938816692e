// The exact word cache. Text is cut where the vocabulary allows it; parts seen before are looked up.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/data/tokenizer_model.h"

namespace lathe {

namespace {

constexpr std::string_view space_symbol = "\xE2\x96\x81";  // U+2581, how SentencePiece writes a space

// Which characters stand side by side in some piece of the vocabulary. ASCII by itself, everything else as
// one class: then a boundary inside or between non-ASCII characters is never used, and no character is ever
// split.
class JoinTable {
 public:
  explicit JoinTable(const SentencePieceModel& model) {
    joins_[other][other] = true;
    for (const auto& piece : model.pieces) {
      int before = -1;
      for (size_t i = 0; i < piece.text.size();) {
        const bool space = piece.text.substr(i, space_symbol.size()) == space_symbol;
        const int now = space ? ' ' : class_of(piece.text[i]);
        if (before >= 0) joins_[static_cast<size_t>(before)][static_cast<size_t>(now)] = true;
        before = now;
        i += space ? space_symbol.size() : 1;
      }
    }
  }
  bool may_cut(char before, char after) const {
    return !joins_[static_cast<size_t>(class_of(before))][static_cast<size_t>(class_of(after))];
  }

 private:
  static constexpr size_t other = 128;
  static int class_of(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 128 ? byte : static_cast<int>(other);
  }
  std::array<std::array<bool, 129>, 129> joins_{};
};

// The cut argument of tokenizer.h needs BPE, text that goes through unchanged, and no unused pieces (BPE
// takes those apart again by a table that the whole text shares).
bool can_cache(const SentencePieceModel& model) {
  return model.type == SentencePieceModel::Bpe && !model.rewrites_text && !model.remove_extra_whitespaces &&
         model.escape_whitespaces && !model.whitespace_as_suffix &&
         std::none_of(model.pieces.begin(), model.pieces.end(),
                      [](const auto& piece) { return piece.type == SentencePieceModel::Unused; });
}

}  // namespace

struct CachedEncoder::Cache {
  struct Slot {
    uint64_t hash = 0;
    uint32_t key_begin = 0;
    uint32_t ids_begin = 0;
    uint16_t key_size = 0;  // 0: free
    uint16_t ids_count = 0;
  };
  static constexpr size_t slots = size_t{1} << 18;  // 6 MiB
  static constexpr size_t most_words = slots / 2;   // then it starts anew
  static constexpr size_t longest_word = 128;       // bytes; longer parts hardly come twice

  explicit Cache(std::shared_ptr<const Tokenizer::Model> model_in)
      : model(std::move(model_in)), enabled(can_cache(model->facts)), join(model->facts) {
    if (enabled) table.resize(slots);
  }

  void clear() {
    std::fill(table.begin(), table.end(), Slot{});
    keys.clear();
    ids.clear();
    words = 0;
  }

  // Appends ids of one part. `first`: nothing of this text came before it.
  void encode_word(std::string_view word, bool first, std::vector<int32_t>& out) {
    const size_t begin = out.size();
    if (word.size() > longest_word) {
      model->encode(word, true, out);
    } else {
      const uint64_t hash = XXH3_64bits(word.data(), word.size());
      size_t at = hash & (slots - 1);
      for (;; at = (at + 1) & (slots - 1)) {
        const Slot& slot = table[at];
        if (slot.key_size == 0) break;
        if (slot.hash == hash && slot.key_size == word.size() &&
            std::memcmp(keys.data() + slot.key_begin, word.data(), word.size()) == 0) {
          ++hits;
          const int32_t* from = ids.data() + slot.ids_begin;
          out.insert(out.end(), from, from + slot.ids_count);
          return join_unknown(begin, first, out);
        }
      }
      ++misses;
      model->encode(word, true, out);
      if (words == most_words) {
        clear();
        at = hash & (slots - 1);
      }
      table[at] = {hash, static_cast<uint32_t>(keys.size()), static_cast<uint32_t>(ids.size()),
                   static_cast<uint16_t>(word.size()), static_cast<uint16_t>(out.size() - begin)};
      keys.append(word);
      ids.insert(ids.end(), out.begin() + static_cast<ptrdiff_t>(begin), out.end());
      ++words;
    }
    join_unknown(begin, first, out);
  }

  // Without byte fallback SentencePiece writes neighbouring unknown characters as one unknown piece.
  void join_unknown(size_t begin, bool first, std::vector<int32_t>& out) const {
    if (first || model->facts.byte_fallback || begin == 0 || begin >= out.size()) return;
    const int32_t unknown = model->processor.unk_id();
    if (out[begin - 1] == unknown && out[begin] == unknown)
      out.erase(out.begin() + static_cast<ptrdiff_t>(begin));
  }

  std::shared_ptr<const Tokenizer::Model> model;
  bool enabled;
  JoinTable join;
  std::vector<Slot> table;
  std::string keys;
  std::vector<int32_t> ids;
  size_t words = 0;
  std::string first_word;
  int64_t hits = 0;
  int64_t misses = 0;
};

CachedEncoder::CachedEncoder(const Tokenizer& tokenizer)
    : cache_(std::make_unique<Cache>(tokenizer.model_)) {}
CachedEncoder::CachedEncoder(CachedEncoder&&) noexcept = default;
CachedEncoder::~CachedEncoder() = default;

bool CachedEncoder::caches() const {
  return cache_->enabled;
}
int64_t CachedEncoder::hits() const {
  return cache_->hits;
}
int64_t CachedEncoder::misses() const {
  return cache_->misses;
}

void CachedEncoder::encode(std::string_view text, std::vector<int32_t>& out, bool continues) {
  Cache& cache = *cache_;
  if (text.empty()) return;
  // A literal U+2581 means the same as a space to the model, but not to the table of cuts.
  if (!cache.enabled || text.find(space_symbol) != std::string_view::npos) {
    cache.model->encode(text, continues, out);
    return;
  }
  bool first = true;
  size_t begin = 0;
  for (size_t i = 1; i <= text.size(); ++i) {
    if (i < text.size() && !cache.join.may_cut(text[i - 1], text[i])) continue;
    std::string_view word = text.substr(begin, i - begin);
    if (first && !continues && cache.model->facts.add_dummy_prefix) {
      cache.first_word.assign(1, ' ').append(word);
      word = cache.first_word;
    }
    cache.encode_word(word, first, out);
    first = false;
    begin = i;
  }
}

}  // namespace lathe
