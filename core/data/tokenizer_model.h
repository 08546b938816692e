// What Tokenizer, CachedEncoder and StreamDecoder share: the loaded model. Private to core/data.
#pragma once

#include <sentencepiece_processor.h>

#include <string>

#include "core/data/sentencepiece_model.h"
#include "core/data/tokenizer.h"

namespace lathe {

struct Tokenizer::Model {
  Model(std::string model_bytes, const std::string& name);

  // Appends ids of `text`; `continues` leaves the dummy prefix away.
  void encode(std::string_view text, bool continues, std::vector<int32_t>& out) const;
  void require_id(int32_t id) const;

  std::string bytes;
  SentencePieceModel facts;  // points into bytes
  std::string hash;
  sentencepiece::SentencePieceProcessor processor;
  sentencepiece::SentencePieceProcessor continuing;  // the same without dummy prefix
  std::string unknown_text;                          // what an unknown piece decodes to
};

}  // namespace lathe
