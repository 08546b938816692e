#include "core/data/json_splitter.h"

#include <fmt/format.h>

#include "kernels/api/error.h"

namespace lathe {

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

void JsonSplitter::fail(const std::string& what) const {
  throw Error(ErrorCode::CorruptFile, fmt::format("{}, byte {}: {}.", file_, at_, what),
              "Repair the file; it must hold one list of values. For a value a line, name it .jsonl.");
}

void JsonSplitter::begin_value(char c) {
  value_.assign(1, c);
  value_done_ = false;
  value_offset_ = at_;
  state_ = State::InValue;
  in_string_ = c == '"';
  escaped_ = false;
  depth_ = c == '{' || c == '[' ? 1 : 0;
  is_word_ = !in_string_ && depth_ == 0;
}

bool JsonSplitter::end_value() {
  state_ = in_list_ ? State::BetweenElements : State::End;
  value_done_ = true;
  ++number_;
  return true;
}

// A byte outside of values.
void JsonSplitter::between_values(char c) {
  if (is_space(c)) return;
  switch (state_) {
    case State::Start:
      if (c == '[') {
        in_list_ = true;
        state_ = State::NeedElement;
      } else {
        begin_value(c);
      }
      return;
    case State::NeedElement:
      if (c == ']' && number_ == 0) {
        state_ = State::End;
      } else if (c == ',' || c == ']' || c == '}') {
        fail(fmt::format("'{}' where a value should begin", c));
      } else {
        begin_value(c);
      }
      return;
    case State::BetweenElements:
      if (c == ',') {
        state_ = State::NeedElement;
      } else if (c == ']') {
        state_ = State::End;
      } else {
        fail("the values of the list aren't separated by a comma");
      }
      return;
    case State::End:
      fail("something follows after the end of the JSON value");
    case State::InValue:
      return;
  }
}

bool JsonSplitter::continue_value(std::string_view& piece) {
  for (size_t i = 0; i < piece.size(); ++i) {
    const char c = piece[i];
    bool complete = false;
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
        complete = depth_ == 0;
      }
    } else if (is_word_) {
      if (is_space(c) || c == ',' || c == ']') {  // belongs to what follows
        value_.append(piece.substr(0, i));
        at_ += static_cast<int64_t>(i);
        piece.remove_prefix(i);
        return end_value();
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      complete = --depth_ == 0;
    }
    if (complete) {
      value_.append(piece.substr(0, i + 1));
      at_ += static_cast<int64_t>(i + 1);
      piece.remove_prefix(i + 1);
      return end_value();
    }
  }
  value_.append(piece);
  at_ += static_cast<int64_t>(piece.size());
  piece = {};
  return false;
}

bool JsonSplitter::next(std::string_view& piece) {
  if (value_done_) {
    value_.clear();
    value_done_ = false;
  }
  if (at_ == 0 && piece.starts_with("\xEF\xBB\xBF")) {
    piece.remove_prefix(3);
    at_ = 3;
  }
  while (!piece.empty()) {
    if (state_ == State::InValue) {
      if (continue_value(piece)) return true;
      continue;
    }
    between_values(piece.front());
    piece.remove_prefix(1);
    ++at_;
  }
  return false;
}

bool JsonSplitter::finish() {
  if (value_done_) value_.clear();
  value_done_ = false;
  if (state_ == State::InValue && is_word_ && !in_list_) return end_value();
  if (state_ == State::InValue) fail("the file ends inside a value");
  if (state_ == State::Start) fail("the file holds no JSON");
  if (state_ != State::End) fail("the file ends before its list does");
  return false;
}

}  // namespace lathe
