#include "core/data/tokenizer_model.h"
#include "kernels/api/utf8.h"

namespace lathe {

static constexpr std::string_view space_symbol = "\xE2\x96\x81";
static constexpr std::string_view replacement = "\xEF\xBF\xBD";

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer) : model_(tokenizer.model_) {}

// Complete characters out of the bytes that byte pieces left. What can't become a character is U+FFFD, a byte
// each, as in SentencePiece; what may still become one stays unless `everything` is asked for.
std::string StreamDecoder::take(bool everything) {
  std::string text;
  std::string_view rest = pending_bytes_;
  while (!rest.empty()) {
    const Utf8Unit unit = utf8_unit(rest);
    if (unit.incomplete && !everything) break;
    text += unit.size > 0 ? rest.substr(0, unit.size) : replacement;
    rest.remove_prefix(unit.size > 0 ? unit.size : 1);
  }
  pending_bytes_.erase(0, pending_bytes_.size() - rest.size());
  return text;
}

std::string StreamDecoder::push(int32_t id) {
  model_->require_id(id);
  const auto& processor = model_->processor;
  if (processor.IsByte(id)) {
    const std::string& piece = processor.IdToPiece(id);  // "<0x0A>"
    pending_bytes_ += static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16));
    std::string text = take(false);
    if (!text.empty()) at_start_ = false;
    return text;
  }
  std::string text = take(true);
  if (!text.empty()) at_start_ = false;
  if (processor.IsControl(id)) return text;
  if (processor.IsUnknown(id)) {
    at_start_ = false;
    return text + model_->unknown_text;
  }
  std::string_view piece = processor.IdToPiece(id);
  const auto& facts = model_->facts;
  if (at_start_ && (facts.add_dummy_prefix || facts.remove_extra_whitespaces) &&
      piece.starts_with(space_symbol)) {
    piece.remove_prefix(space_symbol.size());
    // With remove_extra_whitespaces every leading space goes, otherwise only the one the model put there.
    if (!facts.remove_extra_whitespaces) at_start_ = false;
  }
  for (size_t i = 0; i < piece.size();) {
    const bool space = piece.substr(i, space_symbol.size()) == space_symbol;
    text += space ? ' ' : piece[i];
    i += space ? space_symbol.size() : 1;
  }
  if (!text.empty()) at_start_ = false;
  return text;
}

std::string StreamDecoder::finish() {
  return take(true);
}

}  // namespace lathe
