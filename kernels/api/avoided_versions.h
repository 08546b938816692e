// Versions of drivers and libraries with known faults: the doctor tells of them, and the attention of a cuDNN
// that computes wrong results is not used.
#pragma once

#include <string_view>

namespace lathe {

struct AvoidedVersion {
  std::string_view component;   // as in DeviceInfo::versions
  std::string_view first, end;  // versions from `first` to below `end`
  std::string_view trouble, advice;
  bool unusable = false;             // the library is passed over, not only warned of
  int compute_capability_major = 0;  // on these GPUs only; 0: on all
};

// What is wrong with this version ("9.19.0") of a component on this GPU (90 for sm_90); null: nothing known.
// A version that is no number ("none") has nothing wrong.
const AvoidedVersion* avoided_version(std::string_view component, std::string_view version,
                                      int compute_capability);

}  // namespace lathe
