// Reads a golden: a safetensors file (eight bytes of header length, a JSON header, raw little-endian data).
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lathe::testing {

class GoldenFile {
 public:
  // Throws NotFound, Io, or CorruptFile for what isn't such a file.
  explicit GoldenFile(const std::filesystem::path& path);

  // Text of the header's __metadata__. All three throw CorruptFile for a name that isn't there.
  std::string metadata(const std::string& name) const;
  std::vector<int64_t> shape(const std::string& name) const;
  std::vector<double> values(const std::string& name) const;  // F64, F32 or I32

 private:
  const nlohmann::json& entry(const std::string& name) const;

  std::filesystem::path path_;
  nlohmann::json header_;
  std::string data_;
};

}  // namespace lathe::testing
