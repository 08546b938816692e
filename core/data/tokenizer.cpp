#include "core/data/tokenizer.h"

#include <fmt/format.h>

#include "core/data/tokenizer_model.h"
#include "core/platform/files.h"
#include "core/platform/hash.h"
#include "kernels/api/error.h"

namespace lathe {

static void load_processor(sentencepiece::SentencePieceProcessor& processor, const std::string& bytes,
                           const std::string& name) {
  const auto status = processor.LoadFromSerializedProto(bytes);
  if (!status.ok()) {
    throw Error(ErrorCode::CorruptFile, fmt::format("{} could not be loaded: {}", name, status.message()),
                "Give the .model file of a SentencePiece tokenizer.");
  }
}

Tokenizer::Model::Model(std::string model_bytes, const std::string& name)
    : bytes(std::move(model_bytes)), facts(read_sentencepiece_model(bytes, name)), hash(hash_hex(bytes)) {
  load_processor(processor, bytes, name);
  load_processor(continuing, without_dummy_prefix(bytes), name);
  if (processor.unk_id() >= 0)
    processor.Decode(std::vector<int>{processor.unk_id()}, &unknown_text).IgnoreError();
}

void Tokenizer::Model::encode(std::string_view text, bool continues, std::vector<int32_t>& out) const {
  thread_local std::vector<int> ids;
  const auto status = (continues ? continuing : processor).Encode(text, &ids);
  if (!status.ok()) {
    throw Error(ErrorCode::Internal,
                fmt::format("SentencePiece could not encode a text: {}", status.message()),
                "Check that the tokenizer model is complete.");
  }
  out.insert(out.end(), ids.begin(), ids.end());
}

void Tokenizer::Model::require_id(int32_t id) const {
  if (id < 0 || id >= processor.GetPieceSize()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("Token id {} is outside the vocabulary of {}.", id, processor.GetPieceSize()),
                "Use the tokenizer that the tokens were made with.");
  }
}

Tokenizer::Tokenizer(const std::filesystem::path& model_file)
    : model_(std::make_shared<Model>(read_file(model_file, int64_t{256} << 20), to_utf8(model_file))) {}
Tokenizer::Tokenizer(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
Tokenizer Tokenizer::from_bytes(std::string model, const std::string& name) {
  return Tokenizer(std::make_shared<Model>(std::move(model), name));
}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

int64_t Tokenizer::vocab() const {
  return model_->processor.GetPieceSize();
}
int32_t Tokenizer::unk() const {
  return model_->processor.unk_id();
}
int32_t Tokenizer::bos() const {
  return model_->processor.bos_id();
}
int32_t Tokenizer::eos() const {
  return model_->processor.eos_id();
}
const std::string& Tokenizer::hash() const {
  return model_->hash;
}
const std::string& Tokenizer::model_bytes() const {
  return model_->bytes;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  model_->encode(text, false, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  for (const int32_t id : ids) model_->require_id(id);
  std::string text;
  const auto status = model_->processor.Decode(std::vector<int>(ids.begin(), ids.end()), &text);
  if (!status.ok()) {
    throw Error(ErrorCode::Internal, fmt::format("SentencePiece could not decode: {}", status.message()));
  }
  return text;
}

std::string Tokenizer::piece(int32_t id) const {
  model_->require_id(id);
  return model_->processor.IdToPiece(id);
}

}  // namespace lathe
