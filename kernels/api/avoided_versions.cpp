#include "kernels/api/avoided_versions.h"

#include <algorithm>
#include <array>
#include <vector>

namespace lathe {
namespace {

constexpr std::string_view kNewerCudnn = "Install cuDNN 9.19 or newer.";

// Sources: the release notes of CUDA 13.0 and of cuDNN 9.10 to 9.15.
constexpr std::array kAvoided = {
    AvoidedVersion{"driver", "0", "580", "is older than CUDA 13 needs", "Install driver 580 or newer."},
    AvoidedVersion{"cudnn", "0", "9.6", "is too old", kNewerCudnn, true},
    AvoidedVersion{"cudnn", "9.6", "9.10", "is older than Lathe was tested with", kNewerCudnn},
    AvoidedVersion{"cudnn", "9.10", "9.10.2", "has a wrong attention backward", kNewerCudnn, true},
    AvoidedVersion{"cudnn", "9.11", "9.13", "has a wrong attention backward on Hopper", kNewerCudnn, true, 9},
    AvoidedVersion{"cudnn", "9.14", "9.15", "crashes in graphs of uneven key length",
                   "Put a newer cuDNN first on the library path (PyTorch carries one)."},
};

// "9.19.0" as numbers to compare; what follows the digits and points doesn't count.
std::vector<int> version_numbers(std::string_view text) {
  std::vector<int> numbers(1, 0);
  for (const char c : text) {
    if (c == '.') {
      numbers.push_back(0);
    } else if (c >= '0' && c <= '9' && numbers.back() < 1000000) {
      numbers.back() = numbers.back() * 10 + (c - '0');
    } else {
      break;
    }
  }
  return numbers;
}

}  // namespace

const AvoidedVersion* avoided_version(std::string_view component, std::string_view version,
                                      int compute_capability) {
  if (version.empty() || version.front() < '0' || version.front() > '9') return nullptr;
  const std::vector<int> numbers = version_numbers(version);
  const auto matches = [&](const AvoidedVersion& entry) {
    return entry.component == component && numbers >= version_numbers(entry.first) &&
           numbers < version_numbers(entry.end) &&
           (entry.compute_capability_major == 0 || entry.compute_capability_major == compute_capability / 10);
  };
  const auto found = std::find_if(kAvoided.begin(), kAvoided.end(), matches);
  return found == kAvoided.end() ? nullptr : &*found;
}

}  // namespace lathe
