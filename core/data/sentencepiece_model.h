// The few facts of a SentencePiece model file that its library doesn't tell: read from the protobuf bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct SentencePieceModel {
  enum Type { Unigram = 1, Bpe = 2, Word = 3, Char = 4 };
  enum PieceType { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };
  struct Piece {
    std::string_view text;  // points into the bytes that were read
    int64_t type = Normal;
  };

  std::vector<Piece> pieces;
  int64_t type = Unigram;
  bool byte_fallback = false;
  bool whitespace_as_suffix = false;
  bool rewrites_text = false;  // a normaliser with rules (NFKC and the like)
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

// `bytes` must outlive the result. Throws CorruptFile; `name` is for the message.
SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& name);

// The same model with "add_dummy_prefix" off: a field that comes again later replaces the earlier one.
std::string without_dummy_prefix(std::string_view bytes);

}  // namespace lathe
