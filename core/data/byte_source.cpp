#include "core/data/byte_source.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "core/platform/files.h"
#include "kernels/api/error.h"

namespace lathe {

namespace fs = std::filesystem;

namespace {

class PlainFile : public ByteSource {
 public:
  explicit PlainFile(const fs::path& path) : name_(to_utf8(path)) {
    std::error_code error;
    if (fs::is_directory(path, error)) throw Error(ErrorCode::Io, name_ + " is a folder.", "Name a file.");
    if (!fs::exists(path, error))
      throw Error(ErrorCode::NotFound, name_ + " doesn't exist.", "Check the path.");
#ifdef _WIN32
    file_.reset(_wfopen(path.c_str(), L"rb"));
#else
    file_.reset(std::fopen(path.c_str(), "rb"));
#endif
    if (!file_)
      throw Error(ErrorCode::Io, fmt::format("Could not open {}: {}.", name_, std::strerror(errno)));
    std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // reads are large already
  }
  size_t read(char* out, size_t size) override {
    const size_t got = std::fread(out, 1, size, file_.get());
    if (got < size && std::ferror(file_.get())) {
      throw Error(ErrorCode::Io,
                  fmt::format("Could not read {} at byte {}: {}.", name_, consumed_, std::strerror(errno)),
                  "Check the disk, then try again.");
    }
    consumed_ += static_cast<int64_t>(got);
    return got;
  }
  int64_t consumed() const override {
    return consumed_;
  }
  const std::string& name() const {
    return name_;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  int64_t consumed_ = 0;
};

// What both decompressors share: a buffer of compressed bytes and the words for what is wrong with them.
class CompressedFile : public ByteSource {
 public:
  explicit CompressedFile(const fs::path& path) : file_(path), buffer_(size_t{256} << 10) {}
  int64_t consumed() const override { return file_.consumed() - static_cast<int64_t>(end_ - begin_); }

 protected:
  bool refill() {  // false at the end of the file
    if (begin_ < end_) return true;
    begin_ = 0;
    end_ = file_.read(buffer_.data(), buffer_.size());
    return end_ > 0;
  }
  [[noreturn]] void fail_early_end() const {
    throw Error(
        ErrorCode::CorruptFile,
        fmt::format("{} ends in the middle of its compressed data (at byte {}).", file_.name(), consumed()),
        "It was probably cut off while copying or downloading: get it again.");
  }
  [[noreturn]] void fail_broken(const char* why) const {
    throw Error(ErrorCode::CorruptFile,
                fmt::format("{}: broken compressed data near byte {} ({}).", file_.name(), consumed(), why),
                "Get the file again, or remove it from the input.");
  }

  PlainFile file_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

class GzipFile : public CompressedFile {
 public:
  explicit GzipFile(const fs::path& path) : CompressedFile(path) {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~GzipFile() override { inflateEnd(&stream_); }

  size_t read(char* out, size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(size, 1u << 30));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted) {
      const bool more = refill();
      if (!more && !in_member_) {
        if (!any_member_) fail_early_end();
        return 0;
      }
      if (!in_member_) {  // gzip files may be joined end to end
        inflateReset(&stream_);
        in_member_ = any_member_ = true;
      }
      // Without input too: zlib may still hold decompressed bytes that didn't fit the last time.
      stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data() + begin_);
      stream_.avail_in = static_cast<uInt>(end_ - begin_);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      begin_ = end_ - stream_.avail_in;
      if (result == Z_STREAM_END) {
        in_member_ = false;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        fail_broken(stream_.msg ? stream_.msg : "not gzip");
      } else if (!more && stream_.avail_out == wanted) {
        fail_early_end();
      }
    }
    return wanted - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool in_member_ = false;
  bool any_member_ = false;
};

class ZstdFile : public CompressedFile {
 public:
  explicit ZstdFile(const fs::path& path) : CompressedFile(path), context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
  }
  size_t read(char* out, size_t size) override {
    ZSTD_outBuffer output{out, size, 0};
    while (output.pos == 0) {
      // Input used up, but the last call may have left decompressed bytes inside.
      const bool more = refill();
      if (!more && (frame_complete_ || !any_frame_)) {
        if (!any_frame_) fail_early_end();
        return 0;
      }
      ZSTD_inBuffer input{buffer_.data(), end_, begin_};
      const size_t result = ZSTD_decompressStream(context_.get(), &output, &input);
      begin_ = input.pos;
      if (ZSTD_isError(result)) fail_broken(ZSTD_getErrorName(result));
      any_frame_ = true;
      frame_complete_ = result == 0;
      if (!more && !frame_complete_ && output.pos == 0) fail_early_end();
    }
    return output.pos;
  }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  bool any_frame_ = false;
  bool frame_complete_ = false;
};

}  // namespace

std::string compression_of(const fs::path& path) {
  const std::string extension = to_utf8(path.extension());
  if (extension == ".gz") return "gz";
  return extension == ".zst" ? "zst" : "";
}

std::unique_ptr<ByteSource> open_byte_source(const fs::path& path) {
  const std::string compression = compression_of(path);
  if (compression == "gz") return std::make_unique<GzipFile>(path);
  if (compression == "zst") return std::make_unique<ZstdFile>(path);
  return std::make_unique<PlainFile>(path);
}

}  // namespace lathe
