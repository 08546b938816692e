// Files, locks, hashes and processes, tried on the real file system.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include "core/platform/child_process.h"
#include "core/platform/file_lock.h"
#include "core/platform/file_system.h"
#include "core/platform/files.h"
#include "core/platform/hash.h"
#include "core/platform/home.h"
#include "core/platform/interrupt.h"
#include "core/platform/json.h"
#include "core/platform/mapped_file.h"
#include "core/platform/process.h"
#include "kernels/api/error.h"

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace lathe {

namespace fs = std::filesystem;

namespace {

template <typename Action>
ErrorCode code_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_FALSE(error.what_to_do().empty()) << error.what();
    return error.code();
  }
  return ErrorCode::Internal;
}

size_t entries(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST(Files, AtomicWrite_ReplacesAndLeavesNothingElse) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / from_utf8("settings \xC3\xA4.json");
  write_file_atomically(file, "one");
  write_file_atomically(file, std::string("two\0three", 9));
  EXPECT_EQ(read_file(file), std::string("two\0three", 9));
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(Files, AtomicWriteThatFails_KeepsTheOldFile) {
  const TemporaryFolder folder;
  const fs::path blocked = folder.path() / "folder";
  fs::create_directories(blocked / "inside");
  EXPECT_NE(code_of([&] { write_file_atomically(blocked, "text"); }), ErrorCode::Internal);
  EXPECT_TRUE(fs::exists(blocked / "inside"));
  EXPECT_EQ(entries(folder.path()), 1u);
  EXPECT_EQ(code_of([&] { write_file_atomically(folder.path() / "no" / "file", "text"); }),
            ErrorCode::NotFound);
}

TEST(Files, AtomicWrite_IsNeverSeenHalf) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "f";
  const std::string a(200000, 'a'), b(300000, 'b');
  write_file_atomically(file, a);
  std::jthread writer([&](std::stop_token stop) {
    for (bool turn = false; !stop.stop_requested(); turn = !turn) write_file_atomically(file, turn ? a : b);
  });
  for (int i = 0; i < 300; ++i) {
    const std::string seen = read_file(file);
    ASSERT_TRUE(seen == a || seen == b) << seen.size();
  }
}

TEST(Files, DurableFile_AppendsTruncatesAndRefusesToOverwrite) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "log";
  {
    DurableFile file(path, DurableFile::Open::CreateNew);
    file.write("one");
    file.sync();
    file.close();
    EXPECT_FALSE(file.is_open());
  }
  {
    DurableFile file(path, DurableFile::Open::Append);
    EXPECT_EQ(file.size(), 3);
    file.write("two");
    DurableFile moved = std::move(file);
    moved.write("3");
    EXPECT_EQ(moved.size(), 7);
  }
  EXPECT_EQ(read_file(path), "onetwo3");
  EXPECT_EQ(code_of([&] { DurableFile(path, DurableFile::Open::CreateNew); }), ErrorCode::Io);
  DurableFile(path, DurableFile::Open::Truncate).write("x");
  EXPECT_EQ(read_file(path), "x");
}

TEST(Files, ReservedFile_TakesItsBlocks) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "reserve";
  create_reserved_file(path, 1234567);
  EXPECT_EQ(fs::file_size(path), 1234567u);
}

TEST(Files, Read_ChecksSizeAndKind) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "f", "12345");
  EXPECT_EQ(code_of([&] { read_file(folder.path() / "f", 4); }), ErrorCode::CorruptFile);
  EXPECT_EQ(code_of([&] { read_file(folder.path() / "none"); }), ErrorCode::NotFound);
  EXPECT_EQ(code_of([&] { read_file(folder.path()); }), ErrorCode::Io);
}

TEST(Files, FreeSpace_OfAPathThatIsNotThereYet_IsItsParents) {
  const TemporaryFolder folder;
  const int64_t free = free_disk_bytes(folder.path());
  EXPECT_GT(free, 0);
  EXPECT_NEAR(static_cast<double>(free_disk_bytes(folder.path() / "a/b/c")), static_cast<double>(free), 1e9);
}

TEST(Files, UniqueNames_DifferAndSortByTime) {
  std::set<std::string> names;
  for (int i = 0; i < 20000; ++i) names.insert(unique_name());
  EXPECT_EQ(names.size(), 20000u);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  const std::string later = unique_name();
  EXPECT_GT(later, *names.rbegin());
  EXPECT_EQ(later.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz"), std::string::npos);
}

TEST(Files, BytesText_HasAUnit) {
  EXPECT_EQ(bytes_text(512), "512 bytes");
  EXPECT_EQ(bytes_text(int64_t{3} << 29), "1.5 GiB");
}

TEST(MappedFile, Content_IsTheFiles) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "f", "hello");
  const MappedFile map(folder.path() / "f");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(map.bytes().data()), 5), "hello");
  write_file_atomically(folder.path() / "empty", "");
  EXPECT_TRUE(MappedFile(folder.path() / "empty").bytes().empty());
  EXPECT_EQ(code_of([&] { MappedFile(folder.path() / "none"); }), ErrorCode::NotFound);
}

TEST(FileLock, SecondTaker_GetsNothingUntilReleased) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "lock";
  EXPECT_FALSE(FileLock::is_held(path));
  EXPECT_FALSE(fs::exists(path)) << "asking made the file";
  auto first = FileLock::try_acquire(path);
  ASSERT_TRUE(first);
  EXPECT_FALSE(FileLock::try_acquire(path));
  EXPECT_TRUE(FileLock::is_held(path));
  first.reset();
  EXPECT_FALSE(FileLock::is_held(path));
  EXPECT_TRUE(FileLock::try_acquire(path));
}

TEST(FileLock, AskingAtTheSameTime_NeverHidesOrInventsAHolder) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "lock";
  std::jthread asker([&](std::stop_token stop) {
    while (!stop.stop_requested()) FileLock::is_held(path);
  });
  int refused = 0;
  for (int i = 0; i < 500; ++i) refused += !FileLock::try_acquire(path);
  EXPECT_EQ(refused, 0);
}

TEST(Hash, Pieces_GiveTheWholesHash) {
  Hasher hasher;
  hasher.add("hello ");
  hasher.add("world");
  EXPECT_EQ(hasher.hex(), hash_hex("hello world"));
  EXPECT_EQ(hash_hex(""),
            "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing, from xxHash's own tests
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "f", "hello world");
  EXPECT_EQ(hash_file_hex(folder.path() / "f"), hash_hex("hello world"));
}

TEST(Process, ThisOne_IsAliveAndHasMemory) {
  const auto start = process_start_time(process_id());
  ASSERT_TRUE(start);
  EXPECT_TRUE(process_is_alive(process_id(), *start));
  EXPECT_FALSE(process_is_alive(process_id(), *start + 1)) << "another process with the same id";
  const ProcessMemory memory = process_memory();
  EXPECT_GT(memory.resident_bytes, 1 << 20);
  EXPECT_GE(memory.peak_resident_bytes, memory.resident_bytes / 2);
  EXPECT_GT(system_memory().total_bytes, system_memory().available_bytes);
  EXPECT_GE(logical_cores(), 1);
  EXPECT_FALSE(host_name().empty());
}

TEST(Process, UtcText_IsIso8601) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(utc_text(1709210096789), "2024-02-29T12:34:56.789Z");
}

TEST(FileSystem, TemporaryFolder_CanHoldAHistory) {
  const TemporaryFolder folder;
  const FileSystemTraits traits = file_system_traits(folder.path() / "not/yet/there");
  EXPECT_FALSE(traits.kind.empty());
  EXPECT_TRUE(traits.supports_locks);
  EXPECT_TRUE(traits.supports_shared_memory);
  EXPECT_EQ(entries(folder.path()), 0u) << "the trial file stayed";
}

#ifndef _WIN32
TEST(FileLock, DeathOfTheHolder_ReleasesIt) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "lock";
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FileLock::try_acquire(path);
    ::pause();
    ::_exit(0);
  }
  const auto start = process_start_time(child);
  for (int i = 0; i < 2000 && !FileLock::is_held(path); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(FileLock::is_held(path));
  EXPECT_TRUE(process_is_alive(child, start.value_or(0)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(FileLock::is_held(path));
  EXPECT_FALSE(process_is_alive(child, start.value_or(0)));
}

TEST(Interrupt, Signals_AreCountedWhileWatchedOnly) {
  {
    const InterruptWatcher watcher;
    EXPECT_FALSE(watcher.interrupted());
    std::raise(SIGINT);
    std::raise(SIGTERM);
    EXPECT_EQ(watcher.count(), 2);
  }
  struct sigaction action {};
  sigaction(SIGINT, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

TEST(Files, FullDisk_IsDiskFullAndLeavesTheOldFile) {
  // /dev/full refuses every write with "no space left".
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  DurableFile file("/dev/full", DurableFile::Open::Append);
  EXPECT_EQ(code_of([&] { file.write("x"); }), ErrorCode::DiskFull);
}

TEST(Files, Home_FollowsTheSystemsRules) {
  const char* former = std::getenv("XDG_DATA_HOME");
  const std::string keep = former ? former : "";
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(default_home(), fs::path("/data/lathe"));
  ::setenv("XDG_DATA_HOME", "relative", 1);  // the specification: ignore it
  EXPECT_NE(default_home(), fs::path("relative/lathe"));
  // A folder that was chosen goes before the platform's.
  const TemporaryFolder folder("home");
  ::setenv("XDG_DATA_HOME", folder.path().c_str(), 1);
  EXPECT_EQ(default_home(), folder.path() / "lathe");
  choose_home(folder.path() / "elsewhere");
  EXPECT_EQ(default_home(), folder.path() / "elsewhere");
  former ? ::setenv("XDG_DATA_HOME", keep.c_str(), 1) : ::unsetenv("XDG_DATA_HOME");
  EXPECT_TRUE(fs::exists(executable_folder()));
}
#endif

#ifndef _WIN32
// Runs a shell script as a child; its lines come back in `lines`.
static ChildEnd run_script(const std::string& script, double seconds, std::vector<std::string>& lines) {
  return run_child({"/bin/sh", "-c", script}, seconds,
                   [&](std::string_view line) { lines.emplace_back(line); });
}

TEST(ChildProcess, Output_ComesLineByLineWithTheExitCode) {
  std::vector<std::string> lines;
  const ChildEnd end = run_script("echo one; printf 'two\\r\\nthree'; read none || echo; exit 3", 20, lines);
  EXPECT_TRUE(end.exited);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three"}));
}

TEST(ChildProcess, Crash_IsToldFromAnExit) {
  std::vector<std::string> lines;
  const ChildEnd end = run_script("echo before; kill -SEGV $$", 20, lines);
  EXPECT_FALSE(end.exited);
  EXPECT_NE(end.text.find("11"), std::string::npos) << end.text;
  EXPECT_EQ(lines, std::vector<std::string>{"before"});
}

TEST(ChildProcess, Hang_IsEndedInTimeAndKeepsWhatWasSaid) {
  for (const char* script : {"echo before; sleep 60", "echo before; exec >&-; exec sleep 60"}) {
    std::vector<std::string> lines;
    const double begin = monotonic_seconds();
    const ChildEnd end = run_script(script, 0.5, lines);
    EXPECT_LT(monotonic_seconds() - begin, 20);
    EXPECT_FALSE(end.exited);
    EXPECT_EQ(lines, std::vector<std::string>{"before"});
  }
}

TEST(ChildProcess, MissingProgram_IsAnError) {
  EXPECT_EQ(code_of([] { run_child({"/nowhere/program"}, 1, [](std::string_view) {}); }), ErrorCode::Io);
}
#endif

TEST(Json, Nesting_IsBoundedBeforeParsing) {
  EXPECT_EQ(json_depth(R"({"a[[[": [1, {"b": "\"["}]} [)"), 3);
  EXPECT_EQ(parse_json(std::string(64, '[') + std::string(64, ']')).size(), 1u);
  EXPECT_THROW(parse_json(std::string(1000000, '[')), nlohmann::json::exception);
}

TEST(Json, WholeNumbers_AreExactOrRefused) {
  EXPECT_EQ(json_integer(nlohmann::json(-5)), -5);
  EXPECT_EQ(json_integer(nlohmann::json::parse("9223372036854775807")), INT64_MAX);
  for (const char* wrong : {"9223372036854775808", "1.0", "1e30", "\"1\"", "null", "[]", "true"})
    EXPECT_THROW(json_integer(nlohmann::json::parse(wrong)), nlohmann::json::exception) << wrong;
  EXPECT_THROW(json_count(nlohmann::json(-1)), nlohmann::json::exception);
}

// What an error quotes may be a broken file; it must still print, and be JSON.
TEST(ErrorText, BytesThatAreNoText_AreReplaced) {
  const Error error(ErrorCode::Io, "bad \xff\xc3", "name \xed\xa0\x80");
  EXPECT_EQ(error.what_happened(), "bad \xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_NO_THROW(nlohmann::json({error.what(), error.what_to_do()}).dump());
}

}  // namespace lathe
