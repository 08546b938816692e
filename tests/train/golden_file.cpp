#include "tests/train/golden_file.h"

#include <cstring>

#include "core/platform/files.h"
#include "kernels/api/error.h"
#include "tests/support/elements.h"

namespace lathe::testing {

namespace {

DType dtype_of(const std::string& name) {
  if (name == "F64") return DType::F64;
  if (name == "F32") return DType::F32;
  if (name == "I32") return DType::I32;
  throw Error(ErrorCode::CorruptFile, "A golden holds numbers of the unexpected type " + name + ".");
}

}  // namespace

GoldenFile::GoldenFile(const std::filesystem::path& path) : path_(path), data_(read_file(path)) {
  uint64_t length = 0;
  if (data_.size() >= sizeof length) std::memcpy(&length, data_.data(), sizeof length);
  if (length == 0 || length > data_.size() - sizeof length) {
    throw Error(ErrorCode::CorruptFile, to_utf8(path) + " is no safetensors file.");
  }
  header_ = nlohmann::json::parse(data_.substr(sizeof length, length));
  data_.erase(0, sizeof length + length);
}

const nlohmann::json& GoldenFile::entry(const std::string& name) const {
  if (!header_.contains(name)) {
    throw Error(ErrorCode::CorruptFile, to_utf8(path_) + " has no " + name + ".",
                "Run tests/golden/make_goldens.py again.");
  }
  return header_.at(name);
}

std::string GoldenFile::metadata(const std::string& name) const {
  return entry("__metadata__").at(name).get<std::string>();
}

std::vector<int64_t> GoldenFile::shape(const std::string& name) const {
  return entry(name).at("shape").get<std::vector<int64_t>>();
}

std::vector<double> GoldenFile::values(const std::string& name) const {
  const nlohmann::json& tensor = entry(name);
  const DType dtype = dtype_of(tensor.at("dtype").get<std::string>());
  const auto range = tensor.at("data_offsets").get<std::vector<size_t>>();
  if (range.size() != 2 || range[0] > range[1] || range[1] > data_.size()) {
    throw Error(ErrorCode::CorruptFile, to_utf8(path_) + ": " + name + " lies outside the file.");
  }
  const auto size = static_cast<size_t>(dtype_bytes(dtype));
  std::vector<double> result((range[1] - range[0]) / size);
  const auto* begin = reinterpret_cast<const std::byte*>(data_.data()) + range[0];
  for (size_t i = 0; i < result.size(); ++i) result[i] = test::load_element(begin + i * size, dtype);
  return result;
}

}  // namespace lathe::testing
