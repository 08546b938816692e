// system_traits.h for Windows.
#include "core/platform/system_traits.h"

namespace lathe {

SystemTraits system_traits() {
  return {"Windows", false, "Windows desktop"};
}

}  // namespace lathe
