// A full disk: the history says so on its reserve, loses no row, and recovers. Needs a small tmpfs, so root
// on Linux.
#include "core/history/reserve_file.h"
#include "tests/unit/history_support.h"

#ifdef __linux__
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace lathe {
namespace {

class HistoryFullDiskTest : public HistoryTest {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(disk_);
    mounted_ = mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=48m") == 0;
    if (!mounted_) GTEST_SKIP() << "SKIPPED: no right to mount a small tmpfs here: " << std::strerror(errno);
  }
  void TearDown() override {
    if (mounted_) umount2(disk_.c_str(), MNT_DETACH);
  }

  // Takes what is left of the disk.
  std::filesystem::path fill() const {
    const auto hog = disk_ / "hog";
    std::ofstream file(hog, std::ios::binary);
    const std::string block(size_t{1} << 16, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
    return hog;
  }

  std::filesystem::path disk_ = scratch() / "disk";
  bool mounted_ = false;
};

TEST_F(HistoryFullDiskTest, Writer_DiskFillsUp_SaysSoAndLosesNoRow) {
  HistoryStore store(disk_ / "home");
  auto writer = store.create_run(info("full"));
  writer->begin_session(1);
  int64_t step = 0;
  const auto write_rows = [&](int count) {
    for (int i = 0; i < count; ++i) writer->add_update(update(++step));
  };
  write_rows(100);
  writer->flush();
  const auto hog = fill();
  for (int round = 0; round < 20 && !writer->failure(); ++round) {
    write_rows(5000);
    writer->flush();  // fits: the reserve was made for this
  }
  ASSERT_TRUE(writer->failure());
  EXPECT_EQ(writer->failure()->code(), ErrorCode::DiskFull);
  EXPECT_FALSE(std::filesystem::exists(writer->folder() / "reserve"));
  writer->add_event(EventLevel::Error, "Paused: no room for a checkpoint.");
  writer->flush();
  ASSERT_EQ(store.open_reader(writer->id())->events().size(), 2u);
  EXPECT_TRUE(writer->failure()) << "still full";

  // Beyond the reserve, rows wait in memory.
  const auto second_hog = disk_ / "hog2";
  {
    std::ofstream file(second_hog, std::ios::binary);
    const std::string block(size_t{1} << 12, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  write_rows(50'000);
  EXPECT_THROW(writer->flush(), Error);

  std::filesystem::remove(hog);
  std::filesystem::remove(second_hog);
  writer->flush();
  EXPECT_FALSE(writer->failure()) << writer->failure()->what();
  EXPECT_TRUE(std::filesystem::exists(writer->folder() / "reserve")) << "taken again";
  EXPECT_EQ(store.open_reader(writer->id())->row_count(MetricTable::Updates), step);
  writer->finish(RunStatus::Stopped, "asked to");
}

TEST_F(HistoryFullDiskTest, Finish_OnAFullDisk_WritesTheReason) {
  HistoryStore store(disk_ / "home");
  auto writer = store.create_run(info("full"));
  writer->begin_session(1);
  fill();
  for (int64_t step = 1; step <= 200; ++step) writer->add_update(update(step));
  writer->add_event(EventLevel::Error, "The disk is full while saving a checkpoint.");
  writer->finish(RunStatus::Failed, "disk full");
  EXPECT_EQ(store.summary(writer->id()).status_reason, "disk full");
  EXPECT_EQ(store.open_reader(writer->id())->row_count(MetricTable::Updates), 200);
}

}  // namespace
}  // namespace lathe
#endif
