// Files that survive a crash: atomic replacement, durable appending, and what every part needs around
// them (names, folders, free space). Paths are std::filesystem, text in and out is UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace lathe {

// Replaces `path` by `content`: readers see the old file or the new one, never a mixture, also after a power
// cut. Written beside the target, flushed, renamed over it, folder flushed. Throws Io or DiskFull; then the
// old file is untouched and no temporary file stays.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// The whole file. Throws NotFound, Io, or CorruptFile when it is larger than `max_bytes` (a guard against
// reading a mistaken path into memory).
std::string read_file(const std::filesystem::path& path, int64_t max_bytes = int64_t{1} << 30);

// Makes the entries of `folder` (created, renamed, removed files) survive a power cut. Nothing to do on
// Windows.
void sync_folder(const std::filesystem::path& folder);

// Moves a file or folder to a name on the same file system, replacing a file there; retries for about a
// second on Windows, where scanners and indexers hold files open for moments. Throws Io.
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);

// A file being written, unbuffered: give it large pieces. Errors name the file; a full disk is DiskFull.
class DurableFile {
 public:
  enum class Open { CreateNew, Truncate, Append };

  DurableFile() = default;
  DurableFile(const std::filesystem::path& path, Open mode);
  DurableFile(DurableFile&& other) noexcept;
  DurableFile& operator=(DurableFile&& other) noexcept;
  ~DurableFile();  // closes; bytes not synced may be lost in a power cut, not in a crash of the process

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void sync();   // returns when the bytes are on the medium
  void close();  // reports what the system says at closing; the destructor can't
  bool is_open() const { return handle_ != -1; }
  int64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  intptr_t handle_ = -1;
  int64_t size_ = 0;
};

// A file of exactly `bytes` bytes whose blocks are really taken (not sparse): the reserve that is deleted
// when the disk is full. Throws DiskFull or Io; then nothing stays.
void create_reserved_file(const std::filesystem::path& path, int64_t bytes);

// Bytes a user may still write on the file system that holds `path` (an existing path, or one whose nearest
// existing parent counts). Throws Io.
int64_t free_disk_bytes(const std::filesystem::path& path);

// A short name that no other call on any machine returns: time, process and a random part, [0-9a-z] only,
// sorted by time of creation.
std::string unique_name();

// The folder of this user's data: XDG_DATA_HOME/lathe or ~/.local/share/lathe; %LOCALAPPDATA%\lathe on
// Windows. Not created. Throws NotFound when the system names no home.
std::filesystem::path default_home();

// Folder of the running executable. Throws Io.
std::filesystem::path executable_folder();

// A folder under the system's temporary folder that is deleted with everything in it at the end of the
// object.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string_view prefix = "lathe", const std::filesystem::path& parent = {});
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// UTF-8 text of a path, with forward slashes, and back.
std::string to_utf8(const std::filesystem::path& path);
std::filesystem::path from_utf8(std::string_view text);

// "12.3 GiB": for messages.
std::string bytes_text(int64_t bytes);

}  // namespace lathe
