// mapped_file.h for POSIX: mmap.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/platform/files.h"
#include "core/platform/mapped_file.h"
#include "core/platform/system_error.h"

namespace lathe {

MappedFile::MappedFile(const std::filesystem::path& path, Access access) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) throw_last_system_error("open " + to_utf8(path));
  struct stat status {};
  if (::fstat(handle, &status) != 0) {
    const int error = errno;
    ::close(handle);
    throw_system_error("read the size of " + to_utf8(path), error);
  }
  size_ = status.st_size;
  if (size_ > 0) {
    void* data = ::mmap(nullptr, static_cast<size_t>(size_), PROT_READ, MAP_SHARED, handle, 0);
    if (data == MAP_FAILED) {
      const int error = errno;
      ::close(handle);
      throw_system_error("map " + to_utf8(path), error);
    }
    data_ = static_cast<const std::byte*>(data);
    ::madvise(data, static_cast<size_t>(size_), access == Access::Random ? MADV_NORMAL : MADV_SEQUENTIAL);
  }
  ::close(handle);  // the map keeps the file open
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), static_cast<size_t>(size_));
}

void MappedFile::forget(int64_t offset, int64_t length) const {
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  const int64_t begin = (offset + page - 1) / page * page;
  const int64_t end = (offset + length) / page * page;
  if (data_ && begin < end && end <= size_) {
    ::madvise(const_cast<std::byte*>(data_) + begin, static_cast<size_t>(end - begin), MADV_DONTNEED);
  }
}

}  // namespace lathe
