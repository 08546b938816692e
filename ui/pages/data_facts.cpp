#include "ui/pages/data_facts.h"

#include <QCoreApplication>
#include <algorithm>
#include <bit>
#include <memory>

#include "core/data/dataset.h"
#include "core/data/tokenizer.h"
#include "core/train/training_data.h"
#include "kernels/api/error.h"
#include "ui/text.h"

namespace lathe::ui {
namespace {

constexpr int64_t kMostDocuments = 200'000;  // more are sampled evenly: the picture is the same
constexpr int64_t kMostTokensShown = 4096;

QString tr(const char* text) {
  return QCoreApplication::translate("DataPage", text);
}

LengthHistogram lengths_of(const Dataset& dataset) {
  LengthHistogram histogram;
  const int64_t documents = dataset.documents(Split::Train);
  const int64_t stride = std::max<int64_t>(1, documents / kMostDocuments);
  std::vector<int64_t> lengths;
  double sum = 0;
  for (int64_t i = 0; i < documents; i += stride) {
    const int64_t length =
        dataset.document_begin(Split::Train, i + 1) - dataset.document_begin(Split::Train, i);
    lengths.push_back(length);
    sum += static_cast<double>(length);
    const auto bin =
        static_cast<size_t>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(1, length))) - 1);
    if (histogram.bins.size() <= bin) histogram.bins.resize(bin + 1);
    ++histogram.bins[bin];
  }
  histogram.documents = static_cast<int64_t>(lengths.size());
  histogram.sampled = stride > 1;
  if (lengths.empty()) return histogram;
  std::ranges::sort(lengths);
  histogram.shortest = lengths.front();
  histogram.longest = lengths.back();
  histogram.median = lengths[lengths.size() / 2];
  histogram.mean = sum / static_cast<double>(lengths.size());
  return histogram;
}

// SentencePiece marks a word's leading space with U+2581 and writes raw bytes as <0xNN>.
QString piece_text(const Tokenizer& tokenizer, int32_t id) {
  return to_qt(tokenizer.piece(id)).replace(QChar(0x2581), QLatin1Char(' '));
}

TokenText text_of(std::span<const int32_t> tokens, std::span<const int32_t> targets,
                  std::span<const int32_t> starts, const Tokenizer* tokenizer) {
  TokenText text;
  const auto count =
      static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(tokens.size()), kMostTokensShown));
  text.pieces.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    TokenText::Piece piece;
    piece.id = tokens[i];
    piece.text = tokenizer && tokens[i] < tokenizer->vocab() ? piece_text(*tokenizer, tokens[i])
                                                             : QString::number(tokens[i]) + QLatin1Char(' ');
    piece.counts = targets.empty() || targets[i] >= 0;
    piece.begins_document = i > 0 && static_cast<size_t>(starts[i]) == i;
    text.pieces.push_back(std::move(piece));
  }
  return text;
}

}  // namespace

DatasetFacts read_dataset_facts(const std::filesystem::path& folder) {
  const Dataset dataset(folder);
  DatasetFacts facts;
  facts.folder = folder;
  facts.manifest = dataset.manifest();
  facts.hash = to_qt(dataset.hash());
  facts.bytes =
      (dataset.tokens(Split::Train) + dataset.tokens(Split::Validation)) * dataset.manifest().bytes_per_token;
  facts.lengths = lengths_of(dataset);
  return facts;
}

int64_t window_count(const SplitEntry& split, int64_t context) {
  return split.tokens > 1 ? (split.tokens - 1) / context : 0;
}

TokenText read_window(const std::filesystem::path& folder, Split split, int64_t window, int64_t context) {
  const Dataset dataset(folder);
  const int64_t windows = window_count(dataset.manifest()[split], context);
  if (window < 0 || window >= windows) {
    throw Error(
        ErrorCode::InvalidArgument,
        to_std(tr("This split has %1 windows of %2 tokens.").arg(count_text(windows), count_text(context))),
        to_std(tr("Choose a smaller window or a shorter context.")));
  }
  const int64_t begin = window * context;
  std::vector<int32_t> tokens(static_cast<size_t>(context));
  dataset.read(split, begin, tokens);
  std::vector<uint8_t> mask(tokens.size());
  dataset.read_loss_mask(split, begin, mask);
  std::vector<int32_t> targets(tokens.size()), starts(tokens.size(), -1);
  for (size_t i = 0; i < tokens.size(); ++i) targets[i] = mask[i] ? 0 : -1;
  const int64_t first = dataset.document_at(split, begin),
                last = dataset.document_at(split, begin + context - 1);
  for (int64_t document = first + 1; document <= last; ++document) {
    const int64_t at = dataset.document_begin(split, document) - begin;
    starts[static_cast<size_t>(at)] = static_cast<int32_t>(at);
  }
  std::optional<Tokenizer> tokenizer;
  if (const auto path = dataset.tokenizer_path()) tokenizer.emplace(*path);
  TokenText text = text_of(tokens, targets, starts, tokenizer ? &*tokenizer : nullptr);
  const QString documents = first == last
                                ? tr("document %1").arg(count_text(first + 1))
                                : tr("documents %1 to %2").arg(count_text(first + 1), count_text(last + 1));
  text.where = tr("Window %1 of %2: tokens %3 to %4 of the %5 split, %6.")
                   .arg(count_text(window + 1), count_text(windows), count_text(begin + 1),
                        count_text(begin + context), to_qt(split_name(split)), documents);
  return text;
}

TokenText read_first_batch(const RunConfig& config, int64_t micro_step, int64_t row) {
  const TrainingData data = open_training_data(config);
  data.sampler->skip(micro_step * config.batch.micro_batch + row);
  Batch batch;
  data.sampler->next(1, batch);
  TokenText text = text_of(batch.tokens, batch.targets, batch.document_start, data.tokenizer.get());
  text.where = tr("Update 1, micro-step %1 of %2, row %3 of %4: %5 of %6 positions count in the loss.")
                   .arg(micro_step + 1)
                   .arg(config.batch.accumulation)
                   .arg(row + 1)
                   .arg(config.batch.micro_batch)
                   .arg(count_text(batch.valid_tokens), count_text(config.model.context));
  return text;
}

}  // namespace lathe::ui
