// A writer killed at random moments leaves an intact, resumable history.
#include "tests/unit/history_kill.h"

#include "tests/unit/history_support.h"

namespace lathe {
namespace {

using HistoryKillTest = HistoryTest;

TEST_F(HistoryKillTest, Writer_KilledAtTenRandomMoments_LeavesAnIntactHistory) {
  kill_rounds(home(), 10, 20261201);
}

}  // namespace
}  // namespace lathe
