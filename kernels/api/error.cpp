#include "kernels/api/error.h"

#include "kernels/api/utf8.h"

namespace lathe {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return "invalid_argument";
    case ErrorCode::InvalidConfig:
      return "invalid_config";
    case ErrorCode::NotFound:
      return "not_found";
    case ErrorCode::CorruptFile:
      return "corrupt_file";
    case ErrorCode::Io:
      return "io";
    case ErrorCode::DiskFull:
      return "disk_full";
    case ErrorCode::OutOfMemory:
      return "out_of_memory";
    case ErrorCode::Unsupported:
      return "unsupported";
    case ErrorCode::Backend:
      return "backend";
    case ErrorCode::NonFinite:
      return "non_finite";
    case ErrorCode::Busy:
      return "busy";
    case ErrorCode::Cancelled:
      return "cancelled";
    case ErrorCode::Internal:
      return "internal";
  }
  return "internal";
}

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::InvalidConfig:
      return 2;
    case ErrorCode::NotFound:
      return 3;
    case ErrorCode::CorruptFile:
      return 4;
    case ErrorCode::Io:
      return 5;
    case ErrorCode::DiskFull:
      return 6;
    case ErrorCode::OutOfMemory:
      return 7;
    case ErrorCode::Unsupported:
      return 8;
    case ErrorCode::Backend:
      return 9;
    case ErrorCode::NonFinite:
      return 10;
    case ErrorCode::Busy:
      return 11;
    case ErrorCode::Cancelled:
      return 12;
    case ErrorCode::Internal:
      return 13;
  }
  return 13;
}

static std::string joined(const std::string& what_happened, const std::string& what_to_do) {
  return valid_utf8(what_to_do.empty() ? what_happened : what_happened + "\n  " + what_to_do);
}

// The texts may quote a broken file, or a path that is no text.
Error::Error(ErrorCode code, std::string what_happened, std::string what_to_do)
    : std::runtime_error(joined(what_happened, what_to_do)),
      code_(code),
      what_happened_(valid_utf8(what_happened)),
      what_to_do_(valid_utf8(what_to_do)) {}

}  // namespace lathe
