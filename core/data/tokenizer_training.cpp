#include "core/data/tokenizer_training.h"

#include <fmt/format.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <unordered_map>

#include "core/platform/files.h"
#include "core/platform/hash.h"
#include "kernels/api/error.h"
#include "kernels/api/utf8.h"

namespace lathe {

static constexpr size_t longest_line = 4000;  // SentencePiece leaves out sentences above 4192 bytes
static constexpr int64_t smallest_vocab = 3 + 256 + 16;

void LineSample::add(std::string_view document) {
  while (!document.empty()) {
    const size_t line_end = std::min(document.find('\n'), document.size());
    std::string_view line = document.substr(0, line_end);
    while (line.size() > longest_line) {
      const std::string_view piece = line.substr(0, longest_line);
      const size_t space = piece.rfind(' ');
      const size_t cut =
          space != std::string_view::npos && space > 0 ? space : std::max<size_t>(utf8_floor(piece), 1);
      add_line(line.substr(0, cut));
      line.remove_prefix(cut);
    }
    add_line(line);
    document.remove_prefix(std::min(line_end + 1, document.size()));
  }
}

void LineSample::add_line(std::string_view line) {
  bytes_seen_ += static_cast<int64_t>(line.size());
  // SentencePiece keeps U+0000, U+2581 and U+2585 for itself.
  if (line.empty() || line.find('\0') != std::string_view::npos || hash64(line) > threshold_) return;
  bytes_ += static_cast<int64_t>(line.size());
  lines_.emplace_back(line);
  while (bytes_ > most_bytes_ && threshold_ > 0) {
    threshold_ /= 2;
    std::erase_if(lines_, [&](const std::string& kept) {
      const bool drop = hash64(kept) > threshold_;
      if (drop) bytes_ -= static_cast<int64_t>(kept.size());
      return drop;
    });
  }
}

namespace {

class SampleIterator : public sentencepiece::SentenceIterator {
 public:
  explicit SampleIterator(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return at_ == lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  size_t at_ = 0;
};

}  // namespace

std::string train_tokenizer(const LineSample& sample, int64_t vocab) {
  if (vocab < smallest_vocab || vocab > (1 << 20)) {
    throw Error(
        ErrorCode::InvalidArgument, fmt::format("A vocabulary of {}.", vocab),
        fmt::format(
            "Give --train-vocab a number from {} (3 special pieces, 256 bytes and some characters) to "
            "{}; 2048 to 32000 are usual.",
            smallest_vocab, 1 << 20));
  }
  if (sample.lines().empty()) {
    throw Error(ErrorCode::InvalidArgument, "The input holds no text to train a tokenizer on.",
                "Check the input files.");
  }
  const std::unordered_map<std::string, std::string> settings = {
      {"model_type", "bpe"},
      {"vocab_size", std::to_string(vocab)},
      {"byte_fallback", "true"},
      {"character_coverage", "0.9999"},
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"add_dummy_prefix", "true"},
      {"allow_whitespace_only_pieces", "true"},
      {"split_digits", "true"},
      {"unk_id", "0"},
      {"bos_id", "1"},
      {"eos_id", "2"},
      {"pad_id", "-1"},
      {"num_threads", "4"},  // stands in the model file, so it must not depend on the machine
      {"minloglevel", "2"},
  };
  SampleIterator lines(sample.lines());
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &lines, &model);
  if (!status.ok()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("A tokenizer of {} pieces could not be trained on {} of text: {}", vocab,
                            bytes_text(sample.bytes()), status.message()),
                "A vocabulary too small for the text's characters: raise --train-vocab. Too large for it: "
                "lower it, or "
                "give more text.");
  }
  return model;
}

}  // namespace lathe
