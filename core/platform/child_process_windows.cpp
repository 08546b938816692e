// child_process.h for Windows.
#include <windows.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/platform/child_process.h"
#include "core/platform/files.h"
#include "core/platform/line_splitter.h"
#include "core/platform/process.h"
#include "core/platform/system_error.h"
#include "kernels/api/error.h"

namespace lathe {

namespace {

// One argument as CommandLineToArgvW takes it apart again.
std::wstring quoted(const std::string& word) {
  std::wstring text = L"\"";
  size_t backslashes = 0;
  for (const wchar_t c : from_utf8(word).wstring()) {
    if (c == L'"') text.append(backslashes + 1, L'\\');  // those before it, doubled, and its own
    backslashes = c == L'\\' ? backslashes + 1 : 0;
    text += c;
  }
  return text.append(backslashes, L'\\') + L"\"";
}

[[noreturn]] void refuse(const std::string& program) {
  throw Error(ErrorCode::Io, fmt::format("{} could not be started (error {}).", program, GetLastError()),
              "Check that the program is there and may be run.");
}

}  // namespace

std::filesystem::path this_program() {
  std::vector<wchar_t> name(512);
  for (;;) {
    const DWORD length = GetModuleFileNameW(nullptr, name.data(), static_cast<DWORD>(name.size()));
    if (length == 0) throw_last_system_error("find this program");
    if (length < name.size()) return std::wstring(name.data(), length);
    name.resize(name.size() * 2);
  }
}

ChildEnd run_child(const std::vector<std::string>& command, double seconds,
                   const std::function<void(std::string_view)>& line) {
  SECURITY_ATTRIBUTES inherited{sizeof(SECURITY_ATTRIBUTES), nullptr, TRUE};
  HANDLE output = nullptr, input_end = nullptr;
  if (!CreatePipe(&output, &input_end, &inherited, 0)) refuse(command[0]);
  SetHandleInformation(output, HANDLE_FLAG_INHERIT, 0);
  std::wstring words;
  for (const std::string& word : command) words += (words.empty() ? L"" : L" ") + quoted(word);
  STARTUPINFOW start{};
  start.cb = sizeof(start);
  start.dwFlags = STARTF_USESTDHANDLES;
  start.hStdOutput = input_end;
  start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
  PROCESS_INFORMATION child{};
  const bool started = CreateProcessW(nullptr, words.data(), nullptr, nullptr, TRUE, CREATE_NO_WINDOW,
                                      nullptr, nullptr, &start, &child);
  CloseHandle(input_end);
  if (!started) {
    CloseHandle(output);
    refuse(command[0]);
  }
  CloseHandle(child.hThread);
  const double end = monotonic_seconds() + seconds;
  LineSplitter lines(line);
  bool timed_out = false;
  for (;;) {
    DWORD available = 0, got = 0;
    std::array<char, 4096> buffer{};
    if (!PeekNamedPipe(output, nullptr, 0, nullptr, &available, nullptr)) break;  // it closed its end
    if (available > 0) {
      if (!ReadFile(output, buffer.data(), static_cast<DWORD>(buffer.size()), &got, nullptr)) break;
      lines.add({buffer.data(), got});
      continue;
    }
    timed_out = monotonic_seconds() > end;
    if (timed_out) break;
    Sleep(10);
  }
  lines.finish();
  // It may live on for a while without its output.
  const double left = std::max(end - monotonic_seconds(), 0.0);
  timed_out =
      timed_out || WaitForSingleObject(child.hProcess, static_cast<DWORD>(left * 1000)) != WAIT_OBJECT_0;
  if (timed_out) {
    TerminateProcess(child.hProcess, 1);
    WaitForSingleObject(child.hProcess, 2000);
  }
  DWORD code = 0;
  GetExitCodeProcess(child.hProcess, &code);
  CloseHandle(child.hProcess);
  CloseHandle(output);
  if (timed_out) return {false, 0, fmt::format("no end within {:.0f} s", seconds)};
  // An unhandled exception ends a process with its status, 0xC0000005 for instance.
  if (code >= 0xC0000000u) return {false, 0, fmt::format("crashed with status {:#x}", code)};
  return {true, static_cast<int>(code), fmt::format("exit code {}", code)};
}

}  // namespace lathe
