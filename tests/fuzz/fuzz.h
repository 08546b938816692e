// A small in-process fuzzer for readers of files. It mutates valid inputs and hands them to the reader: a
// lathe::Error is an answer, anything else (another exception, a crash, a sanitizer's report, more than
// `slow_seconds` for one input) is a failure, and the input that did it stays on disk.
//
//   TEST(ManifestFuzz, MutatedInput_NeverCrashes) {
//     fuzz("manifest", {valid_manifest}, [](const std::string& input) { manifest_from_json(input, "fuzz");
//     });
//   }
//
// Inputs whose answer is new join the corpus, so that mutations go on from them: a cheap stand-in for
// coverage. The answer is the error's text without its numbers, or what the reader returns as text, if it
// does. LATHE_FUZZ_SECONDS sets the time (default 2), LATHE_FUZZ_SEED the seed, LATHE_FUZZ_FOLDER where files
// go.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "core/platform/process.h"
#include "kernels/api/error.h"

namespace lathe::testing {

inline double fuzz_seconds() {
  const char* text = std::getenv("LATHE_FUZZ_SECONDS");
  return text ? std::strtod(text, nullptr) : 2.0;
}

inline uint64_t fuzz_seed() {
  const char* text = std::getenv("LATHE_FUZZ_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20240607;
}

// Where fuzzed files go: memory where the system has a folder in it, since a disk makes every input slow
// (ext4 flushes a file that is overwritten).
inline std::filesystem::path fuzz_folder() {
  if (const char* folder = std::getenv("LATHE_FUZZ_FOLDER")) return folder;
  std::error_code error;
  const std::filesystem::path memory = "/dev/shm";
  return std::filesystem::is_directory(memory, error) ? memory : std::filesystem::temp_directory_path();
}

// Random changes to a byte string: bits, bytes, runs, numbers at the edge of their type, pieces of other
// inputs, words of a dictionary, truncation.
class Mutator {
 public:
  Mutator(uint64_t seed, std::vector<std::string> words) : random_(seed), words_(std::move(words)) {}

  std::string mutate(std::string input, const std::string& other, size_t most_bytes) {
    for (size_t changes = 1 + below(1 + below(8)); changes > 0; --changes) change(input, other);
    if (input.size() > most_bytes) input.resize(most_bytes);
    return input;
  }
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(random_() % n); }

 private:
  void change(std::string& input, const std::string& other) {
    const size_t at = below(input.size() + 1);
    const size_t left = input.size() - at;
    switch (below(9)) {
      case 0:
        if (left > 0) input[at] = static_cast<char>(static_cast<unsigned char>(input[at]) ^ (1u << below(8)));
        break;
      case 1:
        if (left > 0) input[at] = static_cast<char>(below(256));
        break;
      case 2:
        input.erase(at, 1 + below(std::max<size_t>(left, 1)));
        break;
      case 3:
        input.insert(at, input.substr(at, 1 + below(64)));
        break;
      case 4:
        input.insert(at, 1 + below(64), static_cast<char>(below(256)));
        break;
      case 5:
        input.resize(at);
        break;
      case 6: {
        const size_t from = below(other.size() + 1);
        input.insert(at, other.substr(from, 1 + below(256)));
        break;
      }
      case 7:
        overwrite_number(input, at);
        break;
      case 8:
        if (!words_.empty()) input.insert(at, words_[below(words_.size())]);
        break;
    }
  }
  void overwrite_number(std::string& input, size_t at) {
    static constexpr uint64_t edges[] = {0,
                                         1,
                                         0x7f,
                                         0x80,
                                         0xff,
                                         0x7fff,
                                         0xffff,
                                         0x10000,
                                         0x7fffffff,
                                         0x80000000,
                                         0xffffffff,
                                         0x7fffffffffffffff,
                                         0x8000000000000000,
                                         0xffffffffffffffff};
    const uint64_t number = edges[below(std::size(edges))];
    const size_t size = size_t{1} << below(4);
    for (size_t i = 0; i < size && at + i < input.size(); ++i)
      input[at + i] = static_cast<char>(number >> (8 * i));
  }

  std::mt19937_64 random_;
  std::vector<std::string> words_;
};

struct FuzzOptions {
  std::vector<std::string> words = {};  // tokens of the format worth inserting
  size_t most_bytes = size_t{1} << 18;
  double slow_seconds = 10;  // one input may take this long, sanitizers and a busy machine included
};

// `reader` takes the input and returns nothing, or a text that tells one accepted input from another.
template <class Reader>
void fuzz(const std::string& name, std::vector<std::string> seeds, const Reader& reader,
          const FuzzOptions& options = {}) {
  using Clock = std::chrono::steady_clock;
  const uint64_t seed = fuzz_seed();
  const auto end = Clock::now() + std::chrono::duration<double>(fuzz_seconds());
  Mutator mutator(seed, options.words);
  std::set<std::string> answers;
  // Written before each call: what is there after a crash did it.
  const auto current = fuzz_folder() / fmt::format("lathe-fuzz-{}-{}-{}.bin", name, seed, process_id());
  // The seeds themselves come first.
  const std::vector<std::string> valid = seeds;
  // Half of the inputs come from what is valid: what was refused once is mostly refused again.
  const auto pick = [&] {
    const std::vector<std::string>& from = mutator.below(2) == 0 ? valid : seeds;
    return from[mutator.below(from.size())];
  };
  int64_t calls = 0, refused = 0;
  for (; Clock::now() < end || calls < static_cast<int64_t>(valid.size()); ++calls) {
    const std::string input =
        calls < static_cast<int64_t>(valid.size())
            ? valid[static_cast<size_t>(calls)]
            : mutator.mutate(pick(), seeds[mutator.below(seeds.size())], options.most_bytes);
    std::ofstream(current, std::ios::binary | std::ios::trunc) << input;
    const auto began = Clock::now();
    std::string answer = "accepted";
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<Reader, const std::string&>>) {
        reader(input);
      } else {
        answer = reader(input);
      }
    } catch (const Error& error) {
      ++refused;
      answer = error.what_happened();
      std::erase_if(answer, [](unsigned char c) { return std::isdigit(c) || c >= 128; });
      answer.resize(std::min<size_t>(answer.size(), 160));
    } catch (const std::exception& error) {
      FAIL() << name << ": " << error.what() << " (not a lathe::Error); input in " << current << ", seed "
             << seed;
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    ASSERT_LT(seconds, options.slow_seconds) << name << ": input in " << current << ", seed " << seed;
    if (answers.insert(answer).second && answers.size() < 512) seeds.push_back(input);
  }
  std::filesystem::remove(current);
  fmt::print("fuzz {}: {} inputs tried, {} refused, {} distinct answers, seed {}\n", name, calls, refused,
             answers.size(), seed);
  EXPECT_GT(calls, static_cast<int64_t>(valid.size())) << name << ": nothing was mutated";
}

}  // namespace lathe::testing
