#include "kernels/cuda/kernel_selection.h"

#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/api/error.h"

namespace lathe::cuda {

namespace {

using Entries = std::map<std::string, std::string>;

// The entries of a text with this fingerprint; none for another's. Throws nlohmann's exceptions.
Entries parse(const std::string& text, const std::string& fingerprint) {
  const nlohmann::json json = nlohmann::json::parse(text);
  if (json.at("fingerprint").get<std::string>() != fingerprint) return {};
  return json.at("kernels").get<Entries>();
}

std::string dump(const std::string& fingerprint, const Entries& entries) {
  return nlohmann::json{{"fingerprint", fingerprint}, {"kernels", entries}}.dump(1);
}

Entries read_cache(const std::filesystem::path& file, const std::string& fingerprint) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return {};
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  try {
    return parse(text, fingerprint);
  } catch (const nlohmann::json::exception&) {
    return {};  // half a file from a crash: chosen anew and replaced
  }
}

std::string file_name(const std::string& fingerprint) {
  std::string name = "kernels-";
  for (const char c : fingerprint) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return name + ".json";
}

}  // namespace

KernelSelection::KernelSelection(std::string fingerprint, const std::string& recorded,
                                 const std::filesystem::path& cache_folder)
    : fingerprint_(std::move(fingerprint)) {
  if (!recorded.empty()) {
    try {
      recorded_ = parse(recorded, fingerprint_);
    } catch (const nlohmann::json::exception& error) {
      throw Error(ErrorCode::CorruptFile,
                  std::string("The recorded kernel selection can't be read: ") + error.what(),
                  "Resume without it: the run then continues, but not bit for bit.");
    }
  }
  if (!cache_folder.empty()) {
    cache_file_ = cache_folder / file_name(fingerprint_);
    cached_ = read_cache(cache_file_, fingerprint_);
  }
}

std::optional<std::string> KernelSelection::find(const std::string& key) {
  for (const Entries* entries : {&used_, &recorded_, &cached_}) {
    const auto found = entries->find(key);
    if (found == entries->end()) continue;
    return used_.emplace(key, found->second).first->second;
  }
  return std::nullopt;
}

void KernelSelection::choose(const std::string& key, std::string value) {
  used_[key] = std::move(value);
}

std::string KernelSelection::json() const {
  return dump(fingerprint_, used_);
}

void KernelSelection::store() const {
  if (cache_file_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(cache_file_.parent_path(), error);
  Entries all = read_cache(cache_file_, fingerprint_);  // another run may have added some meanwhile
  bool news = false;
  for (const auto& entry : used_) news |= all.insert(entry).second;
  if (!news) return;
  const std::filesystem::path fresh = cache_file_.string() + ".new";
  {
    std::ofstream stream(fresh, std::ios::binary | std::ios::trunc);
    stream << dump(fingerprint_, all);
    if (!stream) return;
  }
  std::filesystem::rename(fresh, cache_file_, error);
}

}  // namespace lathe::cuda
