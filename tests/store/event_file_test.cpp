#include "store/events/event_file.hpp"

#include "store/events/event_record.hpp"
#include "store/publish/publish.hpp"
#include "store/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::map<std::uint64_t, double> times_in(const std::filesystem::path& folder) {
  std::map<std::uint64_t, double> times;
  for (const auto& [step, recorded] : recorded_steps(folder, "")) times[step] = recorded.unix_s;
  return times;
}

MetricRecord record(std::uint64_t step, double unix_s) {
  return {step, unix_s, {{"trial/flops", 1e6}, {"front/size", 2}}};
}

// tensorboard.summary.writer.record_writer of Event(wall_time=1.0, step=3, summary with a=0.5).
TEST(EventRecord, HasTheBytesOfTensorBoardsWriter) {
  const std::string expected(
      "\x17\0\0\0\0\0\0\0\xe7\xce\xf8\x1e"  // length, its checksum
      "\x09\0\0\0\0\0\0\xf0\x3f"            // wall_time
      "\x10\x03"                            // step
      "\x2a\x0a\x0a\x08\x0a\x01\x61\x15\0\0\0\x3f"
      "\xa4\x69\x2d\x17",
      39);
  EXPECT_EQ(event_record({3, 1.0, {{"a", 0.5}}}), expected);
}

TEST(EventRecord, IsReadBackAndEndsAtDamage) {
  const std::string good = event_file_start(5) + event_record(record(7, 1.25));
  std::string_view rest = good;
  EXPECT_EQ(take_event(rest)->step, std::nullopt);
  EXPECT_EQ(take_event(rest)->unix_s, 5);
  const auto mark = take_event(rest);
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->step, 7U);
  EXPECT_EQ(mark->unix_s, 1.25);
  EXPECT_FALSE(take_event(rest));
  const std::string whole = event_record(record(300, 2));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    rest = damaged;
    EXPECT_FALSE(take_event(rest)) << at;
    rest = std::string_view(whole).substr(0, at);
    EXPECT_FALSE(take_event(rest)) << at;
  }
}

TEST(EventFile, KnowsWhenEachStepWas) {
  const testing::ScratchFolder folder;
  EventFile file(folder.path(), 1000);
  file.add(std::vector{record(0, 10.5), record(1, 11)});
  file.add(std::vector{record(2, 12)});
  EXPECT_THAT(times_in(folder.path()), ElementsAre(Pair(0, 10.5), Pair(1, 11), Pair(2, 12)));
  EXPECT_EQ(file.path().filename().string().rfind("events.out.tfevents.0000001000.", 0), 0U);
}

TEST(EventFile, KnowsOneValueOfEachStepByItsName) {
  const testing::ScratchFolder folder;
  EventFile file(folder.path(), 1000);
  file.add(std::vector<MetricRecord>{{0, 1, {{"a", 0.5}, {"front", 3}}}, {300, 2, {{"front/size", -4.25}}}});
  EXPECT_EQ(recorded_steps(folder.path(), "front").at(0).value, 3);
  EXPECT_EQ(recorded_steps(folder.path(), "front").at(300).value, std::nullopt);
  EXPECT_EQ(recorded_steps(folder.path(), "front/size").at(300).value, -4.25);
}

TEST(EventFile, OfTwoFilesTheNewerCounts) {
  const testing::ScratchFolder folder;
  EventFile(folder.path(), 2000).add(std::vector{record(0, 20)});
  EventFile(folder.path(), 1000).add(std::vector{record(0, 10), record(1, 11)});
  EXPECT_THAT(times_in(folder.path()), ElementsAre(Pair(0, 20), Pair(1, 11)));
}

TEST(EventFile, WritesWhatItHoldsFirst) {
  const testing::ScratchFolder folder;
  EventFile file(folder.path(), 1000);
  file.hold(std::vector{record(0, 10)});
  EXPECT_FALSE(std::filesystem::exists(file.path()));
  file.add(std::vector{record(1, 11)});
  file.add(std::vector{record(2, 12)});
  EXPECT_EQ(read_file(file.path()), event_file_start(1000) + event_record(record(0, 10)) +
                                        event_record(record(1, 11)) + event_record(record(2, 12)));
}

TEST(EventFile, ATornRecordIsNoStep) {
  const testing::ScratchFolder folder;
  EventFile file(folder.path(), 1000);
  file.add(std::vector{record(0, 10), record(1, 11)});
  std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) - 1);
  EXPECT_THAT(times_in(folder.path()), ElementsAre(Pair(0, 10)));
}

TEST(EventFile, NoFolderHasNoTimes) {
  EXPECT_THAT(times_in("/nowhere/at/all"), IsEmpty());
}

TEST(EventFile, RemovesEarlierJobsFilesAndNoOthers) {
  const testing::ScratchFolder folder;
  const auto other = folder / "events.out.tfevents.1.host.7";
  const auto earlier = folder / "events.out.tfevents.0000000001.host.7.skyline";
  testing::overwrite(other, "");
  testing::overwrite(earlier, "");
  EventFile file(folder.path(), 1000);
  file.add(std::vector{record(0, 10)});
  file.remove_others();
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_FALSE(std::filesystem::exists(earlier));
  EXPECT_TRUE(std::filesystem::exists(file.path()));
}

TEST(EventFile, RecordsThatFailedGoToTheSamePlaceAgain) {
  const testing::ScratchFolder folder;
  EventFile file(folder.path(), 1000);
  file.add(std::vector{record(0, 10)});
  const auto away = folder / "away";
  std::filesystem::rename(file.path(), away);
  EXPECT_THAT(testing::user_error_of([&] { file.add(std::vector{record(1, 11)}); }),
              HasSubstr("cannot write " + file.path().string() + ": open: No such file or directory"));
  std::filesystem::rename(away, file.path());
  file.add(std::vector{record(1, 11)});
  EXPECT_EQ(read_file(file.path()),
            event_file_start(1000) + event_record(record(0, 10)) + event_record(record(1, 11)));
}

}  // namespace
}  // namespace skyline::store
