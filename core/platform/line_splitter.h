// Bytes as they arrive, handed on line by line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lathe {

class LineSplitter {
 public:
  explicit LineSplitter(const std::function<void(std::string_view)>& line) : line_(line) {}

  void add(std::string_view bytes) {
    for (size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      pending_.append(bytes.substr(0, end));
      finish();
      bytes.remove_prefix(end + 1);
    }
    pending_.append(bytes);
  }
  // What came without a line end counts as a line, too.
  void finish() {
    if (pending_.ends_with('\r')) pending_.pop_back();
    if (!pending_.empty()) line_(pending_);
    pending_.clear();
  }

 private:
  const std::function<void(std::string_view)>& line_;
  std::string pending_;
};

}  // namespace lathe
