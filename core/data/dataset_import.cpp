#include "core/data/dataset_import.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/data/dataset_writer.h"
#include "core/data/tokenizer.h"
#include "core/platform/files.h"
#include "core/platform/hash.h"
#include "kernels/api/error.h"

namespace lathe {

namespace fs = std::filesystem;

namespace {

constexpr int64_t piece_tokens = int64_t{1} << 20;

class Importer {
 public:
  Importer(const ImportOptions& options, const std::function<bool(int64_t, int64_t)>& progress)
      : options_(options), progress_(progress) {
    if (options.files.empty()) {
      throw Error(ErrorCode::InvalidArgument, "No token file was given.", "Name at least one file.");
    }
    for (const fs::path& path : options.files) files_.emplace_back(path, options.format);
    for (const fs::path& path : options.validation_files) files_.emplace_back(path, options.format);
    for (const TokenFile& file : files_) total_bytes_ += file.bytes();
    if (options.tokenizer) tokenizer_.emplace(*options.tokenizer);
    settle_vocabulary();
  }

  DatasetManifest run(const fs::path& target) {
    DatasetManifest manifest;
    manifest.origin = fmt::format("import {}", token_format_name(options_.format));
    manifest.vocab = vocab_;
    manifest.eos = eos_;
    if (tokenizer_) {
      manifest.unk = tokenizer_->unk();
      manifest.bos = tokenizer_->bos();
    }
    const bool own_validation = !options_.validation_files.empty();
    WriterOptions writer_options{options_.replace, files_.front().has_mask(), options_.validation_fraction};
    if (own_validation) writer_options.validation_fraction = 0;
    DatasetWriter writer(target, std::move(manifest), writer_options);
    for (size_t i = 0; i < files_.size(); ++i) {
      const bool validation = i >= options_.files.size();
      const fs::path& path =
          validation ? options_.validation_files[i - options_.files.size()] : options_.files[i];
      writer.manifest().sources.push_back({to_utf8(path), files_[i].bytes(), 0, files_[i].tokens()});
      std::optional<Split> forced;
      if (own_validation) forced = validation ? Split::Validation : Split::Train;
      import_file(files_[i], forced, writer);
    }
    return writer.finish(tokenizer_ ? tokenizer_->model_bytes() : std::string());
  }

 private:
  void settle_vocabulary() {
    const TokenFile& first = files_.front();
    vocab_ = options_.vocab > 0 ? options_.vocab : (tokenizer_ ? tokenizer_->vocab() : first.vocab());
    if (vocab_ <= 0) {
      throw Error(ErrorCode::InvalidArgument, "These files don't say how large their vocabulary is.",
                  "Give --vocab N, or --tokenizer with the model they were made with.");
    }
    eos_ = options_.eos.value_or(tokenizer_ ? tokenizer_->eos() : first.eos());
    if (eos_ >= vocab_ && options_.eos) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("--eos {} is outside the vocabulary of {}.", eos_, vocab_),
                  "Give the id that stands between documents, or -1 when there is none.");
    }
    // A vocabulary smaller than the format's usual one (characters, say) has another end of text, or none.
    if (eos_ >= vocab_) eos_ = -1;
    for (const TokenFile& file : files_) {
      if (file.has_mask() != first.has_mask()) {
        throw Error(ErrorCode::InvalidArgument, "Some of the files have a loss mask and some have none.",
                    "Import them as two datasets.");
      }
    }
  }

  // Where the document that holds ids[begin] ends within `ids`, or ids.size() when that isn't in sight.
  // An end-of-text id that begins a document doesn't end it, unless the document began in the piece before.
  size_t document_end(std::span<const int32_t> ids, size_t begin, bool eos_begins, bool continues,
                      bool& found) const {
    const auto from = ids.begin() + static_cast<ptrdiff_t>(begin) + (eos_begins && !continues ? 1 : 0);
    const auto at = eos_ < 0 ? ids.end() : std::find(from, ids.end(), static_cast<int32_t>(eos_));
    found = at != ids.end();
    return static_cast<size_t>(at - ids.begin()) + (found && !eos_begins ? 1 : 0);
  }

  void import_file(const TokenFile& file, std::optional<Split> forced, DatasetWriter& writer) {
    SourceEntry& source = writer.manifest().sources.back();
    std::vector<int32_t> ids;  // tokens [offset, offset + size) of the file
    std::vector<uint8_t> mask;
    bool continues = false;
    for (int64_t offset = 0; offset < file.tokens();) {
      const auto count = static_cast<size_t>(std::min(piece_tokens, file.tokens() - offset));
      ids.resize(count);
      file.read(offset, ids, vocab_);
      mask.resize(file.has_mask() ? count : 0);
      if (file.has_mask()) file.read_mask(offset, mask);
      const bool last_piece = offset + static_cast<int64_t>(count) == file.tokens();
      size_t begin = 0;
      while (begin < count) {
        bool found = false;
        const size_t end = document_end(ids, begin, file.eos_begins_documents(), continues, found);
        // A document that isn't complete here is read again from its start, unless it fills the whole piece.
        if (!found && !last_piece && begin > 0) break;
        const std::span part = std::span(ids).subspan(begin, end - begin);
        const std::span part_mask = mask.empty() ? std::span<const uint8_t>()
                                                 : std::span<const uint8_t>(mask).subspan(begin, end - begin);
        const bool ends = found || last_piece;
        const uint64_t hash = hash64({reinterpret_cast<const char*>(part.data()), part.size_bytes()});
        writer.add({part, part_mask, hash, continues, ends}, forced);
        source.documents += ends ? 1 : 0;
        continues = !ends;
        begin = end;
      }
      file.forget(offset, static_cast<int64_t>(begin));
      offset += static_cast<int64_t>(begin);
      done_bytes_ =
          std::min(total_bytes_, done_bytes_ + static_cast<int64_t>(begin) * file.bytes() / file.tokens());
      if (progress_ && !progress_(done_bytes_, total_bytes_)) {
        throw Error(ErrorCode::Cancelled, "The import was stopped; nothing was left behind.");
      }
    }
  }

  const ImportOptions& options_;
  const std::function<bool(int64_t, int64_t)>& progress_;
  std::vector<TokenFile> files_;
  std::optional<Tokenizer> tokenizer_;
  int64_t vocab_ = 0;
  int64_t eos_ = -1;
  int64_t total_bytes_ = 0;
  int64_t done_bytes_ = 0;
};

}  // namespace

DatasetManifest import_tokens(const fs::path& target, const ImportOptions& options,
                              const std::function<bool(int64_t, int64_t)>& progress) {
  return Importer(options, progress).run(target);
}

}  // namespace lathe
