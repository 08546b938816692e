// The protobuf wire format, as far as sentencepiece_model.proto needs it: varint, 64-bit, length-delimited,
// 32-bit.
#include "core/data/sentencepiece_model.h"

#include <fmt/format.h>

#include "kernels/api/error.h"

namespace lathe {

namespace {

class WireReader {
 public:
  WireReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  // Moves to the next field; false at the end.
  bool next() {
    if (at_ == bytes_.size()) return false;
    const uint64_t tag = varint();
    field_ = tag >> 3;
    switch (tag & 7) {
      case 0:
        number_ = varint();
        break;
      case 1:
        text_ = take(8);
        break;
      case 2:
        text_ = take(varint());
        break;
      case 5:
        text_ = take(4);
        break;
      default:
        fail();
    }
    return true;
  }
  uint64_t field() const { return field_; }
  uint64_t number() const { return number_; }
  std::string_view text() const { return text_; }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorCode::CorruptFile,
                fmt::format("{} is not a SentencePiece model (at byte {}).", name_, at_),
                "Give the .model file of a SentencePiece tokenizer.");
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) fail();
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
    fail();
  }
  std::string_view take(uint64_t size) {
    if (size > bytes_.size() - at_) fail();
    const std::string_view text = bytes_.substr(at_, size);
    at_ += size;
    return text;
  }

  std::string_view bytes_;
  const std::string& name_;
  size_t at_ = 0;
  uint64_t field_ = 0;
  uint64_t number_ = 0;
  std::string_view text_;
};

}  // namespace

SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& name) {
  SentencePieceModel model;
  WireReader proto(bytes, name);
  while (proto.next()) {
    if (proto.field() == 1) {  // pieces
      SentencePieceModel::Piece piece;
      for (WireReader field(proto.text(), name); field.next();) {
        if (field.field() == 1) piece.text = field.text();
        if (field.field() == 3) piece.type = static_cast<int64_t>(field.number());
      }
      model.pieces.push_back(piece);
    } else if (proto.field() == 2) {  // trainer_spec
      for (WireReader field(proto.text(), name); field.next();) {
        if (field.field() == 3) model.type = static_cast<int64_t>(field.number());
        if (field.field() == 24) model.whitespace_as_suffix = field.number() != 0;
        if (field.field() == 35) model.byte_fallback = field.number() != 0;
      }
    } else if (proto.field() == 3) {  // normalizer_spec
      for (WireReader field(proto.text(), name); field.next();) {
        if (field.field() == 2) model.rewrites_text = !field.text().empty();
        if (field.field() == 3) model.add_dummy_prefix = field.number() != 0;
        if (field.field() == 4) model.remove_extra_whitespaces = field.number() != 0;
        if (field.field() == 5) model.escape_whitespaces = field.number() != 0;
      }
    }
  }
  if (model.pieces.empty()) {
    throw Error(ErrorCode::CorruptFile, fmt::format("{} holds no vocabulary.", name),
                "Give the .model file of a SentencePiece tokenizer.");
  }
  return model;
}

std::string without_dummy_prefix(std::string_view bytes) {
  // Field 3 (normalizer_spec), 2 bytes: field 3 (add_dummy_prefix) = 0. Parsers merge it into the former one.
  return std::string(bytes) + std::string("\x1a\x02\x18\x00", 4);
}

}  // namespace lathe
