// Text to token ids and back: SentencePiece, with an exact cache of words in front of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

class Tokenizer {
 public:
  // Loads a SentencePiece model. Throws NotFound, Io or CorruptFile.
  explicit Tokenizer(const std::filesystem::path& model_file);
  static Tokenizer from_bytes(std::string model, const std::string& name = "tokenizer");
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  int64_t vocab() const;
  int32_t unk() const;
  int32_t bos() const;                     // -1 when the model has none
  int32_t eos() const;                     // -1 when the model has none
  const std::string& hash() const;         // of the model file's bytes
  const std::string& model_bytes() const;  // the file itself, for writing it elsewhere

  // Ids of `text`, without BOS or EOS, exactly as SentencePiece gives them. Thread-safe, uncached.
  std::vector<int32_t> encode(std::string_view text) const;

  // Text of ids, as SentencePiece gives it. Ids out of range throw InvalidArgument. Thread-safe.
  std::string decode(std::span<const int32_t> ids) const;

  // The piece as the model stores it ("▁the", "<0x0A>"). Throws InvalidArgument.
  std::string piece(int32_t id) const;

 private:
  friend class CachedEncoder;
  friend class StreamDecoder;
  struct Model;
  explicit Tokenizer(std::shared_ptr<const Model> model);
  std::shared_ptr<const Model> model_;
};

// encode() with a cache from word to ids: the same ids as SentencePiece, many times faster. One per thread.
//
// Why it is exact: BPE merges only what stands in the vocabulary, so where no piece of the vocabulary holds
// the two characters around a boundary side by side, no merge crosses it, and the parts can be encoded alone.
// The boundaries are read off the vocabulary at loading. Models for which this argument doesn't hold
// (unigram, a normaliser that rewrites text, unused pieces) go to SentencePiece uncached.
class CachedEncoder {
 public:
  explicit CachedEncoder(const Tokenizer& tokenizer);
  CachedEncoder(CachedEncoder&&) noexcept;
  ~CachedEncoder();

  // Appends the ids of `text` to `out`. With `continues`, `text` goes on where an earlier part of the same
  // document ended, and the model's word-start marker isn't put in front of it.
  void encode(std::string_view text, std::vector<int32_t>& out, bool continues = false);

  bool caches() const;  // false when the model is one that can't be cached
  int64_t hits() const;
  int64_t misses() const;

 private:
  struct Cache;
  std::unique_ptr<Cache> cache_;
};

// Decodes generated ids one by one, giving out text as soon as it is complete UTF-8. The pieces together
// equal decode() of all ids.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer);
  std::string push(int32_t id);  // throws InvalidArgument for an id out of range
  std::string finish();          // what is left: bytes of an incomplete character become U+FFFD

 private:
  std::string take(bool everything);
  std::shared_ptr<const Tokenizer::Model> model_;
  std::string pending_bytes_;
  bool at_start_ = true;
};

}  // namespace lathe
