#include "core/data/dataset_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "core/data/block_reader.h"
#include "core/data/dataset_writer.h"
#include "core/data/input_files.h"
#include "core/data/ordered_pipeline.h"
#include "core/data/tokenizer.h"
#include "core/data/tokenizer_training.h"
#include "core/platform/files.h"
#include "core/platform/hash.h"
#include "core/platform/process.h"
#include "kernels/api/error.h"

namespace lathe {

namespace {

// A block's documents as ids, with what the writer needs to know of each part.
struct EncodedBlock {
  struct Part {
    size_t ids_end = 0;
    uint64_t content_hash = 0;
    bool continues = false;
    bool ends = true;
  };
  size_t file = 0;
  std::vector<int32_t> ids;
  std::vector<uint8_t> mask;
  std::vector<Part> parts;
  int64_t text_bytes = 0;
  int64_t skipped = 0;
};

class Builder {
 public:
  Builder(const BuildOptions& options, const BuildWatcher& watcher)
      : options_(options), watcher_(watcher), files_(list_input_files(options.inputs)) {
    for (const InputFile& file : files_) progress_.input_bytes_total += file.bytes;
    threads_ = options.threads > 0 ? options.threads : logical_cores();
    blocks_.separator = options.documents.separator;
  }

  BuildResult run(const std::filesystem::path& target) {
    const Tokenizer tokenizer = options_.tokenizer ? Tokenizer(*options_.tokenizer) : train();
    if (tokenizer.eos() < 0) {
      throw Error(
          ErrorCode::InvalidArgument,
          fmt::format("The tokenizer {} has no end-of-text piece (</s>).", to_utf8(*options_.tokenizer)),
          "Use one that has: documents must end in it.");
    }
    DatasetManifest manifest;
    manifest.origin = "build";
    manifest.vocab = tokenizer.vocab();
    manifest.unk = tokenizer.unk();
    manifest.bos = tokenizer.bos();
    manifest.eos = tokenizer.eos();
    for (const InputFile& file : files_) manifest.sources.push_back({to_utf8(file.path), file.bytes, 0, 0});
    DatasetWriter writer(
        target, std::move(manifest),
        {options_.replace, !options_.documents.prompt_field.empty(), options_.validation_fraction});
    encode(tokenizer, writer);
    begin(BuildPhase::Finishing);
    result_.manifest = writer.finish(tokenizer.model_bytes());
    return result_;
  }

 private:
  void begin(BuildPhase phase) {
    progress_.phase = phase;
    progress_.input_bytes_done = progress_.text_bytes = 0;
    input_bytes_done_ = 0;
    phase_began_ = monotonic_seconds();
    report(true);
  }

  void report(bool at_once = false) {
    const double now = monotonic_seconds();
    if (!at_once && now - last_report_ < 0.1) return;
    last_report_ = now;
    progress_.seconds = now - phase_began_;
    progress_.input_bytes_done = input_bytes_done_;
    if (watcher_ && !watcher_(progress_)) {
      throw Error(ErrorCode::Cancelled, "Building the dataset was stopped; nothing was left behind.");
    }
  }

  // Every block of every file, in order.
  void read_all(const std::function<bool(Block&&)>& sink) {
    int64_t before = 0;
    bool go_on = true;
    for (size_t i = 0; i < files_.size() && go_on; ++i) {
      const std::unique_ptr<ByteSource> source = open_byte_source(files_[i].path);
      read_blocks(files_[i], i, *source, blocks_, [&](Block&& block) {
        input_bytes_done_ = before + source->consumed();
        return go_on = sink(std::move(block));
      });
      before += files_[i].bytes;
      input_bytes_done_ = before;
    }
  }

  Tokenizer train() {
    begin(BuildPhase::Sampling);
    LineSample sample(options_.sample_bytes);
    read_all([&](Block&& block) {
      extract_documents(block, to_utf8(files_[block.file].path), options_.documents,
                        [&](const DocumentPart& part) {
                          sample.add(part.prompt);
                          sample.add(part.text);
                        });
      progress_.text_bytes = sample.bytes_seen();
      report();
      return true;
    });
    begin(BuildPhase::TrainingTokenizer);
    return Tokenizer::from_bytes(train_tokenizer(sample, options_.train_vocab), "the trained tokenizer");
  }

  EncodedBlock encode_block(const Block& block, CachedEncoder& encoder, int32_t eos) const {
    EncodedBlock out;
    out.file = block.file;
    out.ids.reserve(block.bytes.size() / 3);
    const bool masked = !options_.documents.prompt_field.empty();
    const auto encode_part = [&](const DocumentPart& part) {
      encoder.encode(part.prompt, out.ids);
      if (masked) out.mask.resize(out.ids.size(), 0);
      encoder.encode(part.text, out.ids, part.continues || !part.prompt.empty());
      if (part.ends) out.ids.push_back(eos);
      if (masked) out.mask.resize(out.ids.size(), 1);
      out.parts.push_back(
          {out.ids.size(), hash64(part.text, hash64(part.prompt)), part.continues, part.ends});
      out.text_bytes += static_cast<int64_t>(part.prompt.size() + part.text.size());
    };
    out.skipped = extract_documents(block, to_utf8(files_[block.file].path), options_.documents, encode_part);
    return out;
  }

  void encode(const Tokenizer& tokenizer, DatasetWriter& writer) {
    begin(BuildPhase::Encoding);
    std::vector<CachedEncoder> encoders;
    for (int i = 0; i < threads_; ++i) encoders.emplace_back(tokenizer);
    OrderedPipeline<Block, EncodedBlock> pipeline;
    pipeline.run(
        threads_, [&](const auto& emit) { read_all(emit); },
        [&](int worker, Block&& block) {
          return encode_block(block, encoders[static_cast<size_t>(worker)], tokenizer.eos());
        },
        [&](EncodedBlock&& block) { write(block, writer); }, [&] { report(); });
    result_.encode_seconds = monotonic_seconds() - phase_began_;
    for (const CachedEncoder& encoder : encoders) {
      result_.cache_hits += encoder.hits();
      result_.cache_misses += encoder.misses();
      result_.cached = encoder.caches();
    }
  }

  void write(const EncodedBlock& block, DatasetWriter& writer) {
    SourceEntry& source = writer.manifest().sources[block.file];
    size_t begin = 0;
    for (const EncodedBlock::Part& part : block.parts) {
      const size_t count = part.ids_end - begin;
      const std::span mask = block.mask.empty() ? std::span<const uint8_t>()
                                                : std::span<const uint8_t>(block.mask).subspan(begin, count);
      writer.add(
          {std::span(block.ids).subspan(begin, count), mask, part.content_hash, part.continues, part.ends});
      source.documents += part.ends ? 1 : 0;
      source.tokens += static_cast<int64_t>(count);
      begin = part.ids_end;
    }
    writer.manifest().text_bytes += block.text_bytes;
    writer.manifest().skipped_records += block.skipped;
    progress_.text_bytes += block.text_bytes;
    progress_.tokens = writer.tokens();
  }

  const BuildOptions& options_;
  const BuildWatcher& watcher_;
  std::vector<InputFile> files_;
  BlockOptions blocks_;
  int threads_ = 1;
  BuildProgress progress_;
  BuildResult result_;
  std::atomic<int64_t> input_bytes_done_{0};  // written by the reading thread
  double phase_began_ = 0;
  double last_report_ = 0;
};

}  // namespace

BuildResult build_dataset(const std::filesystem::path& target, const BuildOptions& options,
                          const BuildWatcher& watcher) {
  return Builder(options, watcher).run(target);
}

}  // namespace lathe
