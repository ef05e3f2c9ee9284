#include "app/job/data_stage.hpp"

#include <gtest/gtest.h>

namespace skyline::app {
namespace {

constexpr std::uint64_t kCopy = 2'000'000'000;

store::FolderCheck sound_folder() {
  store::FolderCheck check;
  check.kind = "ext4";
  check.free_bytes = 5 * kCopy;
  return check;
}

TEST(DataStage, ASoundFolderIsGood) {
  const Finding finding = judge_stage("/tmp/skyline-7", sound_folder(), kCopy);
  EXPECT_EQ(finding.verdict, Verdict::kGood);
  EXPECT_EQ(finding.text, "/tmp/skyline-7: ext4, 10.00 GB free");
}

TEST(DataStage, ThereMustBeRoomForACopyUnlessItIsThere) {
  store::FolderCheck check = sound_folder();
  check.free_bytes = kCopy - 1;
  const Finding finding = judge_stage("/tmp/skyline-7", check, kCopy);
  EXPECT_EQ(finding.verdict, Verdict::kProblem);
  EXPECT_EQ(finding.text, "/tmp/skyline-7: ext4, 2.00 GB free, a copy needs 2.00 GB");
  const Finding with_copy = judge_stage("/tmp/skyline-7", check, std::nullopt);
  EXPECT_EQ(with_copy.verdict, Verdict::kGood);
  EXPECT_EQ(with_copy.text, "/tmp/skyline-7: ext4, 2.00 GB free, the copy is there");
}

TEST(DataStage, AFolderThatRefusesIsAProblem) {
  store::FolderCheck check = sound_folder();
  check.refused = {{"write", "No space left on device"}};
  const Finding finding = judge_stage("/tmp/skyline-7", check, kCopy);
  EXPECT_EQ(finding.verdict, Verdict::kProblem);
  EXPECT_EQ(finding.text, "/tmp/skyline-7: ext4 refused write: No space left on device");
}

TEST(DataStage, AFolderInMemoryIsNoted) {
  store::FolderCheck check = sound_folder();
  check.kind = "tmpfs";
  const Finding finding = judge_stage("/dev/shm/skyline-7", check, kCopy);
  EXPECT_EQ(finding.verdict, Verdict::kNote);
  EXPECT_EQ(finding.text, "/dev/shm/skyline-7: tmpfs, 10.00 GB free in memory");
}

TEST(DataStage, AFolderThatNodesShareIsWarnedOf) {
  for (const char* kind : {"nfs4", "lustre"}) {
    store::FolderCheck check = sound_folder();
    check.kind = kind;
    const Finding finding = judge_stage("/home/me/skyline-7", check, kCopy);
    EXPECT_EQ(finding.verdict, Verdict::kWarning);
    EXPECT_EQ(finding.text,
              std::string("/home/me/skyline-7: ") + kind + ", 10.00 GB free: is no disk of the node");
  }
}

}  // namespace
}  // namespace skyline::app
