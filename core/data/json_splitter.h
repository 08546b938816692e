// Cuts a JSON file of any size into the values of its top-level list, without parsing them: it only follows
// strings and brackets. A file that isn't a list is one value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lathe {

class JsonSplitter {
 public:
  explicit JsonSplitter(std::string file) : file_(std::move(file)) {}

  // Takes bytes off the front of `piece` until a value is complete (true: see value()) or the piece is used
  // up. Throws CorruptFile for what can't be JSON, with the byte offset.
  bool next(std::string_view& piece);

  // At the end of the file: true when a last value (a number or word without an end of its own) is complete.
  // Throws CorruptFile when the file ends inside a value or its list.
  bool finish();

  const std::string& value() const { return value_; }  // complete after next() said so, otherwise so far
  int64_t number() const { return number_; }           // of complete values
  int64_t offset() const { return value_offset_; }     // of the value's first byte in the file

 private:
  enum class State { Start, BetweenElements, NeedElement, InValue, End };

  [[noreturn]] void fail(const std::string& what) const;
  void begin_value(char c);
  bool end_value();
  bool continue_value(std::string_view& piece);
  void between_values(char c);

  std::string file_;
  State state_ = State::Start;
  bool in_list_ = false;
  bool value_done_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
  bool is_word_ = false;  // the value is a number, true, false or null
  int64_t depth_ = 0;
  int64_t at_ = 0;  // offset of the next byte
  int64_t value_offset_ = 0;
  int64_t number_ = 0;
  std::string value_;
};

}  // namespace lathe
