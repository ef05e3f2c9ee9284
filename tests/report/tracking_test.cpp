#include "report/tracking/tracking.hpp"

#include "core/log.hpp"
#include "report/sample_run.hpp"
#include "report/tracking/event_file.hpp"

#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TrackingTest : public ::testing::Test {
 protected:
  TrackingTest() {
    log::start({folder_.paths().log().string(), "", log::Level::kError});
    std::filesystem::create_directories(folder_.paths().events());
  }
  ~TrackingTest() override { log::stop(); }

  std::unique_ptr<RunTracking> start(std::size_t replayed = 0) const {
    return start_tracking({folder_.paths(), run_.objectives, run_.metrics, replayed});
  }
  void commit(RunTracking& tracking, std::uint64_t position, bool replayed = false) const {
    trial::CommittedTrial committed = run_.committed[0];
    committed.position = position;
    const run::Commit commit{std::make_shared<const trial::CommittedTrial>(committed), replayed};
    tracking.committed(commit, run::RunState(run_.objectives));
  }
  std::uint64_t steps_written() const { return first_step_without_event(folder_.paths().events()); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_.paths().events()), {}));
  }
  std::string log_text() const { return testing::text_of(folder_.paths().log()); }

  testing::SampleRun run_;
  testing::SampleFolder folder_;
};

TEST_F(TrackingTest, WritesEveryTrialTheReplayedOnesFirst) {
  const auto tracking = start(3);
  for (std::uint64_t position = 0; position < 100; ++position) commit(*tracking, position, position < 3);
  tracking->ended(RunEnd::kFinished);
  EXPECT_EQ(steps_written(), 100U);
  EXPECT_THAT(log_text(), Not(HasSubstr("event file")));
}

TEST_F(TrackingTest, ANewJobGoesOnWhereTheEventsOfEarlierOnesEnd) {
  const auto first = start();
  for (std::uint64_t position = 0; position < 4; ++position) commit(*first, position);
  first->ended(RunEnd::kStopped);
  const auto with_nothing_new = start(4);
  for (std::uint64_t position = 0; position < 4; ++position) commit(*with_nothing_new, position, true);
  with_nothing_new->ended(RunEnd::kStopped);
  EXPECT_EQ(steps_written(), 4U);
  const auto third = start(4);
  for (std::uint64_t position = 0; position < 6; ++position) commit(*third, position, position < 4);
  third->ended(RunEnd::kFinished);
  EXPECT_EQ(steps_written(), 6U);
}

TEST_F(TrackingTest, WritesLaterWhatStorageDidNotTakeAndTellsItOnce) {
  std::filesystem::remove(folder_.paths().events());
  const auto tracking = start();
  commit(*tracking, 0);
  while (log_text().find("this is tried again") == std::string::npos) std::this_thread::yield();
  commit(*tracking, 1);
  std::filesystem::create_directories(folder_.paths().events());
  commit(*tracking, 2);
  tracking->ended(RunEnd::kFinished);
  EXPECT_EQ(steps_written(), 3U);
  const std::string log = log_text();
  EXPECT_EQ(log.find("this is tried again"), log.rfind("this is tried again"));
  EXPECT_THAT(log, HasSubstr("works again"));
}

TEST_F(TrackingTest, SaysAtTheEndWhatIsMissing) {
  std::filesystem::remove(folder_.paths().events());
  const auto tracking = start();
  for (std::uint64_t position = 0; position < 5; ++position) commit(*tracking, position);
  tracking->ended(RunEnd::kFinished);
  EXPECT_THAT(log_text(),
              HasSubstr("cannot be written; 5 trials were not written, a job with --resume adds them"));
}

TEST_F(TrackingTest, WritesNothingMoreOfAnAbandonedRun) {
  const auto tracking = start();
  tracking->abandon();
  commit(*tracking, 0);
  tracking->ended(RunEnd::kFailed);
  EXPECT_EQ(files(), 0U);
}

TEST_F(TrackingTest, WritesTheRestWhenItIsDestroyedWithoutAnEnd) {
  commit(*start(), 0);
  EXPECT_EQ(steps_written(), 1U);
}

}  // namespace
}  // namespace skyline::report
