#include "report/tracking/metric_thread.hpp"

#include "core/log.hpp"
#include "report/sample_run.hpp"

#include <condition_variable>
#include <mutex>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// The calls of a sink; outlives it.
struct Told {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t first_wanted = 0;
  std::size_t connects = 0;
  std::vector<std::uint64_t> steps;
  std::size_t away = 0;  // so many calls fail, and may work later
  bool refuses = false;  // every call fails for good
  bool hangs = false;    // until released
  bool released = false;
  std::size_t calls = 0;

  template <typename Condition>
  bool wait_for(Condition condition, std::chrono::milliseconds bound = std::chrono::seconds(60)) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, bound, condition);
  }
  void release() {
    const std::lock_guard lock(mutex);
    released = true;
    changed.notify_all();
  }
};

class ToldSink final : public MetricSink {
 public:
  explicit ToldSink(std::shared_ptr<Told> told) : told_(std::move(told)) {}
  std::string name() const override { return "the sink"; }
  std::uint64_t connect() override {
    const std::lock_guard lock(told_->mutex);
    ++told_->connects;
    return told_->first_wanted;
  }
  void add(std::span<const store::MetricRecord> records) override {
    std::unique_lock lock(told_->mutex);
    ++told_->calls;
    told_->changed.notify_all();
    told_->changed.wait(lock, [this] { return !told_->hangs || told_->released; });
    if (told_->refuses) throw UserError("the sink wants a password");
    if (told_->away > 0) {
      --told_->away;
      throw SinkAway("the sink is away");
    }
    for (const auto& record : records) told_->steps.push_back(record.step);
    told_->changed.notify_all();
  }

 private:
  std::shared_ptr<Told> told_;
};

class MetricThreadTest : public ::testing::Test {
 protected:
  MetricThreadTest() { log::start({folder_.paths().log().string(), "", log::Level::kError}); }
  ~MetricThreadTest() override { log::stop(); }

  TrackedTrial trial(std::uint64_t position, bool replayed = false) const {
    trial::CommittedTrial committed = run_.committed[0];
    committed.position = position;
    const run::Commit commit{std::make_shared<const trial::CommittedTrial>(committed), replayed};
    return {commit, run::RunState(run_.objectives), 0};
  }
  std::unique_ptr<MetricThread> make(std::uint64_t replayed = 0) {
    auto thread = std::make_unique<MetricThread>(std::make_unique<ToldSink>(told_),
                                                 RunMetrics(run_.objectives, run_.metrics), pace_);
    for (std::uint64_t position = 0; position < replayed; ++position) thread->add(trial(position, true));
    return thread;
  }
  static void end(MetricThread& thread, std::chrono::milliseconds bound = std::chrono::seconds(60)) {
    thread.begin_end(bound);
    thread.wait_for_end();
  }
  std::string log_text() const { return testing::text_of(folder_.paths().log()); }
  std::size_t lines_with(const std::string& text) const {
    const std::string log = log_text();
    std::size_t count = 0;
    for (std::size_t at = 0; (at = log.find(text, at)) != std::string::npos; at += text.size()) ++count;
    return count;
  }
  static std::vector<std::uint64_t> up_to(std::size_t count) {
    std::vector<std::uint64_t> steps(count);
    std::iota(steps.begin(), steps.end(), 0);
    return steps;
  }

  testing::SampleRun run_;
  testing::SampleFolder folder_;
  std::shared_ptr<Told> told_ = std::make_shared<Told>();
  MetricPace pace_{.flush = std::chrono::milliseconds(1),
                   .first_retry = std::chrono::milliseconds(1),
                   .last_retry = std::chrono::milliseconds(4)};
};

TEST_F(MetricThreadTest, PassesOnEveryTrialOnceInOrderTheReplayedOnesFirst) {
  const auto thread = make(3);
  for (std::uint64_t number = 3; number < 100; ++number) thread->add(trial(number));
  end(*thread);
  EXPECT_EQ(told_->steps, up_to(100));
}

TEST_F(MetricThreadTest, LeavesOutWhatAnEarlierJobPassedOn) {
  told_->first_wanted = 2;
  const auto thread = make(3);
  end(*thread);
  EXPECT_THAT(told_->steps, ElementsAre(2));
  EXPECT_EQ(told_->connects, 1U);
}

TEST_F(MetricThreadTest, AnAbandonedRunsSinkIsToldNothingMore) {
  told_->hangs = true;
  const auto thread = make();
  thread->add(trial(0));
  EXPECT_TRUE(told_->wait_for([&] { return told_->calls == 1; }));
  for (std::uint64_t number = 1; number < 50; ++number) thread->add(trial(number));
  thread->abandon();
  told_->release();
  end(*thread);
  EXPECT_THAT(told_->steps, ElementsAre(0));
  EXPECT_THAT(log_text(), Not(HasSubstr("the sink")));
}

TEST_F(MetricThreadTest, StopsWhereItIsWhenNoTimeIsLeftAndSaysWhatIsMissing) {
  told_->hangs = true;
  const auto thread = make();
  thread->add(trial(0));
  EXPECT_TRUE(told_->wait_for([&] { return told_->calls == 1; }));
  for (std::uint64_t number = 1; number < 50; ++number) thread->add(trial(number));
  thread->begin_end(std::chrono::milliseconds(0));
  told_->release();
  thread->wait_for_end();
  EXPECT_THAT(told_->steps, ElementsAre(0));
  EXPECT_THAT(log_text(), HasSubstr("the sink: no time is left; 49 trials or more were not taken"));
}

TEST_F(MetricThreadTest, TrialsGoOnTheirWayBeforeTheEnd) {
  const auto thread = make();
  thread->add(trial(0));
  EXPECT_TRUE(told_->wait_for([&] { return told_->steps.size() == 1; }));
  end(*thread);
}

TEST_F(MetricThreadTest, TriesAgainWhatIsAwayAndTellsItOnce) {
  told_->away = 7;
  const auto thread = make();
  for (std::uint64_t number = 0; number < 20; ++number) thread->add(trial(number));
  EXPECT_TRUE(told_->wait_for([&] { return told_->steps.size() == 20; }));
  end(*thread);
  EXPECT_EQ(told_->steps, up_to(20));
  EXPECT_EQ(lines_with("the sink is away; the run goes on, this is tried again"), 1U);
  EXPECT_EQ(lines_with("the sink: works again"), 1U);
}

TEST_F(MetricThreadTest, GivesUpAtTheEndAndSaysWhatIsMissing) {
  told_->away = 1'000'000;
  const auto thread = make();
  for (std::uint64_t number = 0; number < 5; ++number) thread->add(trial(number));
  end(*thread);
  EXPECT_THAT(told_->steps, IsEmpty());
  EXPECT_THAT(log_text(),
              HasSubstr("the sink is away; 5 trials or more were not taken, a job with --resume adds them"));
}

TEST_F(MetricThreadTest, ARefusalIsToldOnceAndNothingMoreIsTried) {
  told_->refuses = true;
  const auto thread = make();
  thread->add(trial(0));
  EXPECT_TRUE(told_->wait_for([&] { return told_->calls == 1; }));
  for (std::uint64_t number = 1; number < 50; ++number) thread->add(trial(number));
  end(*thread);
  EXPECT_EQ(told_->calls, 1U);
  EXPECT_EQ(lines_with("the sink wants a password; the run goes on without the sink"), 1U);
}

TEST_F(MetricThreadTest, LeavesASinkThatHangsBehind) {
  told_->hangs = true;
  auto thread = make();
  thread->add(trial(0));
  EXPECT_TRUE(told_->wait_for([&] { return told_->calls == 1; }));
  end(*thread, std::chrono::milliseconds(1));
  thread.reset();
  EXPECT_THAT(log_text(), HasSubstr("the sink: hangs, and is abandoned"));
  told_->release();
  EXPECT_TRUE(told_->wait_for([&] { return told_->steps.size() == 1; }));
}

TEST_F(MetricThreadTest, DropsWhatComesWhileTooManyWaitSoThatNothingIsMissingInBetween) {
  told_->hangs = true;
  pace_.most_waiting = 10;
  const auto thread = make();
  thread->add(trial(0));
  EXPECT_TRUE(told_->wait_for([&] { return told_->calls == 1; }));
  for (std::uint64_t number = 1; number < 40; ++number) thread->add(trial(number));
  told_->release();
  EXPECT_TRUE(told_->wait_for([&] { return told_->steps.size() == 11; }));
  thread->add(trial(40));
  end(*thread);
  EXPECT_EQ(told_->steps, up_to(11));
  EXPECT_EQ(lines_with("too many trials wait, later ones are left to a job with --resume"), 1U);
}

TEST_F(MetricThreadTest, TakesHoweverManyTrialsOfEarlierJobs) {
  told_->hangs = true;
  pace_.most_waiting = 10;
  const auto thread = make(50);
  told_->release();
  end(*thread);
  EXPECT_EQ(told_->steps, up_to(50));
}

TEST_F(MetricThreadTest, WhatNobodyEndedTakesTheRest) {
  make(1).reset();
  EXPECT_THAT(told_->steps, ElementsAre(0));
  EXPECT_THAT(log_text(), Not(HasSubstr("the sink")));
}

}  // namespace
}  // namespace skyline::report
