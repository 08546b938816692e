// Trains the tokenizer of a dataset: SentencePiece BPE with byte fallback, in the form Llama uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

// A sample of lines that fits a limit, whatever the size of the corpus and the order of its files: a line
// stays when its hash lies below a threshold, which is halved whenever the sample grows too large.
class LineSample {
 public:
  explicit LineSample(int64_t most_bytes) : most_bytes_(most_bytes) {}
  void add(std::string_view document);  // any text; long lines are cut at 4,000 bytes
  const std::vector<std::string>& lines() const { return lines_; }
  int64_t bytes() const { return bytes_; }
  int64_t bytes_seen() const { return bytes_seen_; }

 private:
  void add_line(std::string_view line);
  int64_t most_bytes_;
  uint64_t threshold_ = UINT64_MAX;
  std::vector<std::string> lines_;
  int64_t bytes_ = 0;
  int64_t bytes_seen_ = 0;
};

// The model file's bytes. Ids: 0 <unk>, 1 <s>, 2 </s>, then 256 bytes, then pieces. Text goes through
// unchanged (no normalisation, all spaces kept), digits are pieces of their own. The same lines give the same
// model. Throws InvalidArgument when the sample is too small for `vocab` pieces.
std::string train_tokenizer(const LineSample& sample, int64_t vocab);

}  // namespace lathe
