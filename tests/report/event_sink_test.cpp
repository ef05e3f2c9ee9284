#include "report/tracking/event_sink.hpp"

#include "report/sample_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Pair;

auto step_at(std::uint64_t step, double unix_s) {
  return Pair(step, Field(&store::RecordedStep::unix_s, unix_s));
}

store::MetricRecord record(std::uint64_t step, double unix_s) {
  return {step, unix_s, {{"trial/flops", 1e6}}};
}

class EventSinkTest : public ::testing::Test {
 protected:
  EventSinkTest() { std::filesystem::create_directories(events_); }
  std::size_t num_files() const {
    const std::filesystem::directory_iterator files(events_);
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

  testing::SampleFolder folder_;
  const std::filesystem::path events_ = folder_.paths().events();
};

TEST_F(EventSinkTest, TheNextJobsFileReplacesTheFirstOnesOnceItHasAllItsTrials) {
  EventSink(events_, 1000, 0).add(std::vector{record(0, 10), record(1, 11)});
  EventSink next(events_, 2000, 2);
  next.add(std::vector{record(0, 10)});
  EXPECT_EQ(num_files(), 1U);
  EXPECT_THAT(store::recorded_steps(events_, ""), ElementsAre(step_at(0, 10), step_at(1, 11)));
  next.add(std::vector{record(1, 11), record(2, 12)});
  EXPECT_EQ(num_files(), 1U);
  EXPECT_THAT(store::recorded_steps(events_, ""),
              ElementsAre(step_at(0, 10), step_at(1, 11), step_at(2, 12)));
}

TEST_F(EventSinkTest, AFolderThatIsGoneMayComeBack) {
  EventSink sink(events_, 1000, 0);
  std::filesystem::remove(events_);
  EXPECT_THROW(sink.add(std::vector{record(0, 10)}), SinkAway);
  std::filesystem::create_directories(events_);
  sink.add(std::vector{record(0, 10)});
  EXPECT_THAT(store::recorded_steps(events_, ""), ElementsAre(step_at(0, 10)));
}

}  // namespace
}  // namespace skyline::report
