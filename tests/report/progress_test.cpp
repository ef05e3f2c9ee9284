#include "report/text/progress.hpp"

#include "core/log.hpp"
#include "report/sample_run.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A progress with a clock and a terminal of the test's own; the log goes to a file.
class ProgressTest : public ::testing::Test {
 protected:
  ProgressTest() { log::start({folder_.paths().log().string(), "", log::Level::kError}); }
  ~ProgressTest() override { log::stop(); }

  std::unique_ptr<Progress> make(bool terminal) {
    ProgressConsole console;
    console.now_s = [this] { return now_s_; };
    console.unix_s = [this] { return 1.7e9 + now_s_; };
    console.columns = [this] { return columns_; };
    if (terminal) console.write = [this](std::string_view text) { writes_.emplace_back(text); };
    return std::make_unique<Progress>(folder_.paths(), run_.space, run_.metrics, console);
  }
  void start(Progress& progress, std::size_t expected) {
    state_.account() = run::SlotUsage({{.rank = 0, .host = "node1"}, {.rank = 1, .host = "node1"}});
    progress.started(state_);
    begin(progress, trial::Phase::kSearch, expected);
  }
  void begin(Progress& progress, trial::Phase phase, std::size_t expected) {
    state_.begin_phase(phase, expected);
    progress.phase_begun(state_);
  }
  /// Commits a trial of the sample run, one more time under another number.
  void commit(Progress& progress, std::size_t index, std::size_t in_flight, bool replayed = false) {
    trial::CommittedTrial committed = run_.committed[index];
    committed.position = state_.trials().size();
    if (state_.trials().contains(committed.trial)) committed.trial.number = 100 + committed.position;
    if (committed.trial.is_final()) committed.trial.proposal.trains = committed.trial.number;
    const run::Commit commit{std::make_shared<const trial::CommittedTrial>(std::move(committed)), replayed};
    state_.add(commit);
    state_.set_in_flight(in_flight);
    progress.committed(commit, state_);
  }
  std::string log_text() const { return testing::text_of(folder_.paths().log()); }
  RunStatus status() const {
    return RunStatus::parse(testing::text_of(folder_.paths().status_json()), "status.json");
  }

  testing::SampleRun run_;
  testing::SampleFolder folder_;
  run::RunState state_{run_.objectives};
  double now_s_ = 1000;
  std::size_t columns_ = 200;
  std::vector<std::string> writes_;
};

TEST_F(ProgressTest, RewritesOneLineOnTheTerminal) {
  const auto progress = make(true);
  start(*progress, 10);
  commit(*progress, 0, 4);
  now_s_ += 5;
  commit(*progress, 1, 3);
  now_s_ += 1;
  progress->tick(state_);
  ASSERT_EQ(writes_.size(), 1U);
  EXPECT_EQ(writes_[0],
            "\rsearch 2/10 trials · 3 in flight · front 2 · best validation_accuracy 0.9812 · 0:06 elapsed · "
            "ETA 0:19\x1b[K");
}

TEST_F(ProgressTest, WritesAtMostTenTimesASecond) {
  const auto progress = make(true);
  start(*progress, 100000);
  for (int i = 0; i < 1000; ++i) {
    commit(*progress, 2, static_cast<std::size_t>(i % 7) + 1);
    now_s_ += 0.001;
    progress->tick(state_);
  }
  EXPECT_GE(writes_.size(), 8U);
  EXPECT_LE(writes_.size(), 10U);
}

TEST_F(ProgressTest, CutsTheLineToTheTerminal) {
  columns_ = 20;
  const auto progress = make(true);
  start(*progress, 10);
  now_s_ += 1;
  progress->tick(state_);
  ASSERT_EQ(writes_.size(), 1U);
  EXPECT_EQ(writes_[0], "\rsearch 0/10 trials \x1b[K");
}

TEST_F(ProgressTest, KnowsNoTimeLeftBeforeTheFirstCommitAndFollowsThePaceOfTheRunAfterIt) {
  const auto progress = make(true);
  start(*progress, 3);
  now_s_ += 10;
  progress->tick(state_);
  EXPECT_THAT(writes_.back(), Not(HasSubstr("ETA")));
  commit(*progress, 0, 2);
  now_s_ += 1;
  progress->tick(state_);
  EXPECT_THAT(writes_.back(), HasSubstr("ETA 0:19"));
  now_s_ += 60;
  progress->tick(state_);
  EXPECT_THAT(writes_.back(), HasSubstr("1:11 elapsed · ETA 0:35")) << "the trial is overdue";
  commit(*progress, 1, 1);
  now_s_ += 60;
  progress->tick(state_);
  EXPECT_THAT(writes_.back(), Not(HasSubstr("ETA"))) << "the last trial is overdue";
}

TEST_F(ProgressTest, SaysThatTheSearchIsChoosingWhereNoTrialIsUnderWay) {
  const auto progress = make(true);
  start(*progress, 3);
  state_.set_choosing(true);
  now_s_ += 10;
  progress->tick(state_);
  EXPECT_THAT(writes_.back(), HasSubstr("search 0/3 trials · choosing the next trial · 0:10 elapsed"));
  state_.set_in_flight(1);
  now_s_ += 10;
  progress->tick(state_);
  EXPECT_THAT(writes_.back(), HasSubstr("search 0/3 trials · 1 in flight · 0:20 elapsed"));
}

TEST_F(ProgressTest, KeepsCommitLinesOffTheTerminalAndInTheLogFile) {
  const auto progress = make(true);
  start(*progress, 10);
  commit(*progress, 1, 4);
  EXPECT_THAT(log_text(), HasSubstr("debug trial 1 committed: depth=9 kernel=3 width=64"));
}

TEST_F(ProgressTest, ClearsTheLineBeforeItSaysThatThePhaseChanges) {
  const auto progress = make(true);
  start(*progress, 2);
  commit(*progress, 0, 1);
  now_s_ += 1;
  progress->tick(state_);
  commit(*progress, 1, 0);
  begin(*progress, trial::Phase::kFinal, 3);
  EXPECT_EQ(writes_.back(), "\r\x1b[K");
  EXPECT_THAT(log_text(), AllOf(HasSubstr("info search 2/2 trials"), HasSubstr("info final: 3 trials")));

  commit(*progress, 4, 1);
  now_s_ += 1;
  progress->tick(state_);
  EXPECT_THAT(writes_.back(), AllOf(HasSubstr("final 1/3 trials"), HasSubstr("front 2"),
                                    HasSubstr("best test_accuracy 0.9700")));
}

TEST_F(ProgressTest, LogsCommitsAndEveryThirtySecondsTheProgressWithoutATerminal) {
  const auto progress = make(false);
  start(*progress, 10);
  commit(*progress, 0, 4);
  for (int i = 0; i < 599; ++i) {
    now_s_ += 0.1;
    progress->tick(state_);
  }
  const std::string text = log_text();
  EXPECT_THAT(text, HasSubstr("info trial 0 committed: "));
  const std::string mark = "search 1/10 trials";
  const std::size_t first = text.find(mark);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find(mark, first + 1), std::string::npos);
  EXPECT_THAT(writes_, IsEmpty());
}

TEST_F(ProgressTest, WritesTheStatusAtTheEndEvenOfAShortRun) {
  {
    const auto progress = make(true);
    start(*progress, 4);
    for (std::size_t i = 0; i < 4; ++i) commit(*progress, i, 3 - i);
    now_s_ += 7;
    progress->ended(RunEnd::kFinished);
  }
  const RunStatus last = status();
  EXPECT_EQ(last.state, "finished");
  EXPECT_EQ(last.done, 4U);
  EXPECT_EQ(last.failed, 1U);
  EXPECT_EQ(last.front, 2U);
  EXPECT_EQ(last.best, (std::vector<BestValue>{{"validation_accuracy", 0.98125}, {"flops", 88138}}));
  EXPECT_EQ(last.slots, 2U);
  EXPECT_EQ(last.ranks, 2U);
  EXPECT_EQ(last.nodes, 1U);
  EXPECT_DOUBLE_EQ(last.elapsed_s, 7);
  EXPECT_EQ(last.eta_s, std::nullopt);
  EXPECT_EQ(writes_.back(), "\n");
}

TEST_F(ProgressTest, KeepsTheLastFiveCommitsInTheStatus) {
  {
    const auto progress = make(true);
    start(*progress, 10);
    for (int i = 0; i < 7; ++i) commit(*progress, i < 6 ? 0 : 3, 1);
  }
  EXPECT_EQ(status().recent.size(), 5U);
  EXPECT_THAT(status().recent.back(), HasSubstr("trial 3 failed"));
}

TEST_F(ProgressTest, SaysThatARunThatEndsByAnExceptionHasFailed) {
  const auto fail = [&] {
    const auto progress = make(false);
    start(*progress, 4);
    throw std::runtime_error("a rank died");
  };
  EXPECT_THROW(fail(), std::runtime_error);
  EXPECT_EQ(status().state, "failed");
}

TEST_F(ProgressTest, HasWrittenThatARunFailedBeforeTheProcessMayEnd) {
  const auto progress = make(false);
  progress->ended(RunEnd::kFailed);
  EXPECT_FALSE(std::filesystem::exists(folder_.paths().status_json())) << "it has not begun";
  start(*progress, 4);
  progress->ended(RunEnd::kFailed);
  EXPECT_EQ(status().state, "failed");
}

TEST_F(ProgressTest, SaysThatARunIsStoppingAndThatItHasStopped) {
  {
    const auto progress = make(true);
    start(*progress, 10);
    now_s_ += 1;
    commit(*progress, 0, 4);
    now_s_ += 1;
    progress->tick(state_);
    EXPECT_THAT(writes_.back(), HasSubstr("ETA"));
    progress->stopping();
    EXPECT_EQ(writes_.back(), "\r\x1b[K") << "the line makes room for the message";
    now_s_ += 1;
    progress->tick(state_);
    EXPECT_THAT(writes_.back(), AllOf(HasSubstr("search 1/10 trials · stopping: saving running trials · 4"),
                                      Not(HasSubstr("ETA"))));
    progress->ended(RunEnd::kStopped);
  }
  EXPECT_THAT(log_text(), HasSubstr("info stopping: running trials save their state"));
  EXPECT_EQ(status().state, "stopped");
  EXPECT_EQ(status().in_flight, 0U);
}

TEST_F(ProgressTest, WritesTheStatusEveryTwoSecondsAndAtAPhaseChange) {
  const auto progress = make(false);
  start(*progress, 4);
  progress->tick(state_);
  const auto wait_for = [&](const std::string& phase) {
    // Another thread writes; the clock of the test stands still meanwhile.
    for (int i = 0; i < 60'000; ++i) {
      progress->tick(state_);
      if (std::filesystem::exists(folder_.paths().status_json()) && status().phase == phase) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  };
  EXPECT_TRUE(wait_for("search"));
  std::filesystem::remove(folder_.paths().status_json());
  now_s_ += 1.9;
  progress->tick(state_);
  EXPECT_FALSE(std::filesystem::exists(folder_.paths().status_json()));
  now_s_ += 0.2;
  EXPECT_TRUE(wait_for("search"));
  begin(*progress, trial::Phase::kFinal, 2);
  EXPECT_TRUE(wait_for("final"));
}

TEST_F(ProgressTest, WarnsOnceAndGoesOnIfTheStatusCannotBeWritten) {
  {
    std::filesystem::create_directory(folder_.paths().status_json());  // a folder is where the file should go
    const auto progress = make(false);
    start(*progress, 4);
    for (int i = 0; i < 5; ++i) {
      now_s_ += 3;
      progress->tick(state_);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  const std::string text = log_text();
  const std::string mark = "the run goes on, its status is out of date";
  const std::size_t first = text.find(mark);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find(mark, first + 1), std::string::npos);
}

TEST_F(ProgressTest, CountsWhatEarlierJobsCommitted) {
  {
    const auto progress = make(false);
    start(*progress, 10);
    for (std::size_t i = 0; i < run_.committed.size(); ++i) commit(*progress, i, 0, true);
  }
  const RunStatus last = status();
  EXPECT_EQ(last.replayed, 6U);
  EXPECT_EQ(last.committed, 6U);
  EXPECT_EQ(last.done, 4U) << "of the search";
  EXPECT_EQ(last.failed, 2U);
  EXPECT_EQ(last.best.front(), (BestValue{"test_accuracy", 0.97}));
}

TEST_F(ProgressTest, CountsTheFullTrainingsBehindTheLastSearchTrialAlone) {
  const auto progress = make(true);
  start(*progress, 10);
  for (std::size_t i = 0; i < run_.committed.size(); ++i) commit(*progress, i, 0, true);
  commit(*progress, 2, 0, true);
  begin(*progress, trial::Phase::kFinal, 3);
  commit(*progress, 4, 1);
  now_s_ += 1;
  progress->tick(state_);
  EXPECT_THAT(writes_.back(), HasSubstr("final 1/3 trials"));
}

TEST_F(ProgressTest, TakesNoReplayForThePaceOfThisJob) {
  const auto progress = make(true);
  start(*progress, 10);
  now_s_ += 500;
  commit(*progress, 0, 0, true);
  now_s_ += 10;
  commit(*progress, 1, 0);
  now_s_ += 1;
  progress->tick(state_);
  EXPECT_THAT(writes_.back(), HasSubstr("ETA 1:19"));
  EXPECT_THAT(log_text(), Not(HasSubstr("trial 0 committed"))) << "an earlier job has said so";
}

TEST_F(ProgressTest, ShowsTrialsThatAreUnderWayBeforeTheFirstOneIsCommitted) {
  const auto progress = make(true);
  start(*progress, 10);
  state_.set_in_flight(4);
  now_s_ += 1;
  progress->tick(state_);
  EXPECT_THAT(writes_.back(), HasSubstr("4 in flight · "));
  state_.set_in_flight(4, 3);
  now_s_ += 1;
  progress->tick(state_);
  EXPECT_THAT(writes_.back(), HasSubstr("4 in flight, 3 of them done · "));
}

TEST_F(ProgressTest, LeavesNoTraceIfTheRunNeverStarted) {
  make(true).reset();
  EXPECT_THAT(writes_, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_.paths().status_json()));
}

}  // namespace
}  // namespace skyline::report
