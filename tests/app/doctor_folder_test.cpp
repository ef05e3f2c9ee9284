#include "app/doctor/doctor_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

store::FolderCheck sound(const char* kind) {
  store::FolderCheck check;
  check.kind = kind;
  check.free_bytes = 1'234'000'000'000;
  check.has_locks = true;
  check.publish_s = 0.004;
  check.write_bytes_per_s = 400e6;
  check.rename_s = 0.003;
  return check;
}

Finding second_finding(const store::FolderCheck& check) {
  const std::vector<Finding> findings = judge_folder("/scratch/a", check);
  EXPECT_THAT(findings, SizeIs(2));
  return findings.size() < 2 ? Finding{} : findings[1];
}

TEST(DoctorFolder, FindsADiskSound) {
  const std::vector<Finding> findings = judge_folder("/scratch/a", sound("nfs4"));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].verdict, Verdict::kGood);
  EXPECT_EQ(findings[0].text, "/scratch/a: nfs4, more than 1000 GB free");
}

TEST(DoctorFolder, SaysOfARefusedCallAloneWhatWasRefused) {
  store::FolderCheck check = sound("fuse.x");
  check.refused = {{"fsync", "Input/output error"}};
  const std::vector<Finding> findings = judge_folder("/scratch/a", check);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].verdict, Verdict::kProblem);
  EXPECT_EQ(findings[0].text, "/scratch/a: fuse.x refused fsync: Input/output error");
}

TEST(DoctorFolder, WarnsOfKindsThatAnswerWellAndKeepNothing) {
  EXPECT_THAT(second_finding(sound("tmpfs")).text, HasSubstr("lies in memory (tmpfs)"));
  EXPECT_THAT(second_finding(sound("fuse.blobfuse2")).text,
              HasSubstr("is an Azure blob mount (fuse.blobfuse2)"));
  EXPECT_THAT(second_finding(sound("fuse.blobfuse2")).advice, HasSubstr("half a journal"));
  EXPECT_THAT(second_finding(sound("fuse.s3fs")).text, HasSubstr("is a FUSE mount (fuse.s3fs)"));
  EXPECT_THAT(second_finding(sound("overlay")).text, HasSubstr("is inside the container (overlay)"));
  EXPECT_EQ(second_finding(sound("overlay")).verdict, Verdict::kWarning);
}

TEST(DoctorFolder, WarnsOfARenameThatTakesAsLongAsACopy) {
  store::FolderCheck check = sound("nfs4");
  check.rename_s = 0.6;
  EXPECT_EQ(second_finding(check).text,
            "/scratch/a: renaming a file of 32 MB takes 0.5 s and more, as if it were copied");
  check.publish_s = 0.09;  // slow with names as with all else
  check.rename_s = 0.3;
  EXPECT_THAT(judge_folder("/scratch/a", check), SizeIs(1));
}

TEST(DoctorFolder, WarnsOfSlownessLittleSpaceAndAWrongClock) {
  store::FolderCheck check = sound("nfs4");
  check.write_bytes_per_s = 7e6;
  EXPECT_THAT(second_finding(check).text, HasSubstr("writes run at 5 MB/s"));
  check = sound("nfs4");
  check.free_bytes = 900'000'000;
  EXPECT_THAT(second_finding(check).text, HasSubstr("less than 1 GB is free"));
  check = sound("nfs4");
  check.clock_ahead_s = -61;
  EXPECT_EQ(second_finding(check).subject, "clock");
  EXPECT_THAT(second_finding(check).text, HasSubstr("by 61 s"));
}

}  // namespace
}  // namespace skyline::app
