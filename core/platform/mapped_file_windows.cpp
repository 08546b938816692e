// mapped_file.h for Windows: file mapping objects.
#include <windows.h>

#include <utility>

#include "core/platform/files.h"
#include "core/platform/mapped_file.h"
#include "core/platform/system_error.h"

namespace lathe {

MappedFile::MappedFile(const std::filesystem::path& path, Access access) {
  const DWORD hint = access == Access::Random ? FILE_FLAG_RANDOM_ACCESS : FILE_FLAG_SEQUENTIAL_SCAN;
  const HANDLE file =
      CreateFileW(path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                  OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL | hint, nullptr);
  if (file == INVALID_HANDLE_VALUE) throw_last_system_error("open " + to_utf8(path));
  LARGE_INTEGER size{};
  if (!GetFileSizeEx(file, &size)) {
    const int error = last_system_error();
    CloseHandle(file);
    throw_system_error("read the size of " + to_utf8(path), error);
  }
  size_ = size.QuadPart;
  if (size_ > 0) {
    const HANDLE mapping = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
    const void* data = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : nullptr;
    const int error = last_system_error();
    if (mapping) CloseHandle(mapping);  // the view keeps both alive
    if (!data) {
      CloseHandle(file);
      throw_system_error("map " + to_utf8(path), error);
    }
    data_ = static_cast<const std::byte*>(data);
  }
  CloseHandle(file);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) UnmapViewOfFile(data_);
}

// Unlocking a range that isn't locked removes its pages from the working set: documented behaviour of
// VirtualUnlock.
void MappedFile::forget(int64_t offset, int64_t length) const {
  if (data_ && length > 0 && offset + length <= size_) {
    VirtualUnlock(const_cast<std::byte*>(data_) + offset, static_cast<SIZE_T>(length));
  }
}

}  // namespace lathe
