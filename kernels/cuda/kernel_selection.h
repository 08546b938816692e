// Which library kernel does which work: chosen once by timing, recorded with the run, used again bit for bit.
//
// An entry's key names kind, shapes, strides, dtypes, epilogue and workspace, never a layer or a phase; its
// value is whatever identifies the library's kernel. Entries belong to one fingerprint: GPU and library
// versions.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace lathe::cuda {

class KernelSelection {
 public:
  // `recorded`: JSON of an earlier json(), or empty. `cache_folder`: where choices are kept between runs, or
  // empty. Both count only where their fingerprint is this one's; a file that can't be read is as none.
  // Throws Error CorruptFile when `recorded` is not such JSON.
  KernelSelection(std::string fingerprint, const std::string& recorded,
                  const std::filesystem::path& cache_folder);

  // The choice recorded for this key, else the cached one. What is found or chosen becomes part of json().
  std::optional<std::string> find(const std::string& key);
  void choose(const std::string& key, std::string value);

  // Everything found or chosen so far: equal texts mean equal kernels.
  std::string json() const;

  // Adds what was chosen to the cache folder's file. A cache that can't be written is not an error.
  void store() const;

 private:
  std::string fingerprint_;
  std::map<std::string, std::string> recorded_, cached_, used_;
  std::filesystem::path cache_file_;
};

}  // namespace lathe::cuda
