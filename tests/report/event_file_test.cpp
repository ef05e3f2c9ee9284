#include "report/tracking/event_file.hpp"

#include "store/publish/publish.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

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

// TensorBoard 2.21's messages of Event(wall_time=1.0) with SessionStartInfo(hparams={depth: 3, kind: a, wide:
// true}).
TEST(EventRecord, OfParametersHasTheBytesOfTensorBoardsMessages) {
  const std::string expected(
      "\x09\x00\x00\x00\x00\x00\x00\xf0?*h\x0a"
      "f\x0a\x1c_hparams_/session_start_infoB\x08\x08"
      "\x01*\x04\x00\x00\x00\x00J<\x0a:\x0a\x07hparams\x12/\x1a-\x0a\x12\x0a\x05"
      "depth\x12\x09"
      "\x11\x00\x00\x00\x00\x00\x00\x08@\x0a\x0b\x0a\x04kind\x12\x03\x1a\x01"
      "a\x0a\x0a\x0a\x04"
      "wide\x12\x02 \x01",
      115);
  const std::vector<NamedParameter> parameters{
      {"depth", std::int64_t{3}}, {"kind", std::string("a")}, {"wide", true}};
  const std::string record = parameters_record(1.0, parameters);
  constexpr std::size_t kHeader = 12;
  EXPECT_EQ(record.substr(kHeader, record.size() - kHeader - 4), expected);
}

TEST(EventFile, BeginsASessionAtItsFirstStepAndGrowsByRecords) {
  const testing::ScratchFolder folder;
  EventFile file(folder.path(), 1000);
  file.add(std::vector{record(7, 10.5), record(8, 11)});
  file.add(std::vector{record(9, 12)});
  EXPECT_EQ(store::read_file(file.path()), event_file_start(1000, 7) + event_record(record(7, 10.5)) +
                                               event_record(record(8, 11)) + event_record(record(9, 12)));
  EXPECT_THAT(file.path().filename().string(), StartsWith("events.out.tfevents.0000001000."));
}

TEST(EventFile, TheNextJobBeginsAtTheFirstStepThatIsInNoFile) {
  const testing::ScratchFolder folder;
  testing::overwrite(folder / "events.out.tfevents.1.host.7", event_record(record(100, 10)));
  EXPECT_EQ(first_step_without_event(folder.path()), 0U) << "a file of another program";
  EventFile file(folder.path(), 1000);
  file.add(std::vector{record(0, 10), record(1, 10), record(200, 10)});
  EXPECT_EQ(first_step_without_event(folder.path()), 201U);
  EventFile(folder.path(), 10).add(std::vector{record(201, 10)});
  EXPECT_EQ(first_step_without_event(folder.path()), 202U) << "of a host whose clock was late";
}

TEST(EventFile, ATornOrDamagedRecordIsNone) {
  const testing::ScratchFolder folder;
  EventFile file(folder.path(), 1000);
  file.add(std::vector{record(0, 10), record(1, 10), record(2, 10)});
  const std::string whole = store::read_file(file.path());
  testing::overwrite(file.path(), whole.substr(0, whole.size() - 1));
  EXPECT_EQ(first_step_without_event(folder.path()), 2U);
  std::string damaged = whole;
  damaged[whole.size() - event_record(record(2, 10)).size() - 10] ^= 1;
  testing::overwrite(file.path(), damaged);
  EXPECT_EQ(first_step_without_event(folder.path()), 1U);
  testing::overwrite(file.path(), std::string(8, '\xff') + whole);
  EXPECT_EQ(first_step_without_event(folder.path()), 0U);
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
  EXPECT_EQ(store::read_file(file.path()),
            event_file_start(1000, 0) + event_record(record(0, 10)) + event_record(record(1, 11)));
}

TEST(EventFile, AFolderThatIsGoneMayComeBack) {
  const testing::ScratchFolder folder;
  const auto events = folder / "events";
  EventFile file(events, 1000);
  EXPECT_THROW(file.add(std::vector{record(0, 10)}), UserError);
  std::filesystem::create_directories(events);
  file.add(std::vector{record(0, 10)});
  EXPECT_EQ(store::read_file(file.path()), event_file_start(1000, 0) + event_record(record(0, 10)));
}

}  // namespace
}  // namespace skyline::report
