// The one error type of Lathe: what happened, and what the reader can do about it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace lathe {

enum class ErrorCode {
  InvalidArgument,  // a call or command line that makes no sense
  InvalidConfig,    // settings that fail validation
  NotFound,         // a run, file, dataset or checkpoint that isn't there
  CorruptFile,      // a file whose content is not what it must be
  Io,               // the system refused to read or write
  DiskFull,         // no space left
  OutOfMemory,      // host or device memory
  Unsupported,      // the backend, library or file system can't do this
  Backend,          // a kernel or library call failed
  NonFinite,        // NaN or infinity in a loss or gradient
  Busy,             // somebody else holds it
  Cancelled,        // stopped on request
  Internal          // a broken invariant: a bug in Lathe
};

// A short stable name for scripts and JSON, for example "disk_full".
std::string_view error_code_name(ErrorCode code);

// Process exit code a command ends with on this error: 2 for wrong usage or settings, 3 and up by kind.
int exit_code(ErrorCode code);

// Thrown for every failure. what() joins both parts; the window and --json show them apart.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, std::string what_happened, std::string what_to_do = {});

  ErrorCode code() const { return code_; }
  const std::string& what_happened() const { return what_happened_; }
  const std::string& what_to_do() const { return what_to_do_; }

 private:
  ErrorCode code_;
  std::string what_happened_;
  std::string what_to_do_;
};

}  // namespace lathe
