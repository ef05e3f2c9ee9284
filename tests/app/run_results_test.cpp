#include "app/job/run_results.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace skyline::app {
namespace {

using std::chrono::milliseconds;

objective::ObjectiveSet objectives() {
  const ConfigNode flops = ConfigNode::make_scalar("flops", {});
  const ConfigNode list = ConfigNode::make_list({ConfigNode::make_map({{"minimize", flops, {}}}, {})}, {});
  return objective::ObjectiveSet::parse(list, nullptr, {});
}

class ResultsWriterTest : public ::testing::Test {
 protected:
  /// When a writing ran.
  struct Writing {
    ResultsWriter::Clock::time_point began, ended;
  };

  /// A run whose results take a while to write: it commits until `done` of them are written, for a minute at
  /// most, or for a given time.
  void run_until(std::size_t done, milliseconds writing, ResultsWriter::Seconds interval,
                 milliseconds time = std::chrono::minutes(1)) {
    ResultsWriter writer(
        [&](const run::RunState& state, const run::RunAccount&, const std::stop_token&) {
          const auto began = ResultsWriter::Clock::now();
          written_ = state.trials().size();
          std::this_thread::sleep_for(writing);
          const std::lock_guard lock(mutex_);
          writings_.push_back({began, ResultsWriter::Clock::now()});
          if (fails_) throw UserError("no space left");
        },
        interval);
    run::RunState state(objectives());
    writer.started(state);
    const auto end = ResultsWriter::Clock::now() + time;
    while (writings() < done && ResultsWriter::Clock::now() < end) {
      trial::CommittedTrial committed;
      committed.trial.number = committed.position = state.trials().size();
      committed.trial.proposal.architecture = std::make_shared<const space::Architecture>();
      committed.outcome = trial::Failure{};
      const run::Commit commit{std::make_shared<const trial::CommittedTrial>(committed)};
      state.add(commit);
      writer.committed(commit, state);
      writer.tick(state);
      std::this_thread::sleep_for(milliseconds(1));
    }
    writer.finish();
  }

  std::size_t writings() {
    const std::lock_guard lock(mutex_);
    return writings_.size();
  }

  std::mutex mutex_;  // guards writings_, which the writer's thread adds to
  std::vector<Writing> writings_;
  std::atomic<std::size_t> written_{0};
  bool fails_ = false;
};

TEST_F(ResultsWriterTest, WritesWhatIsThereAgainAndAgain) {
  run_until(2, milliseconds(0), milliseconds(10));
  EXPECT_GE(writings_.size(), 2U);
  EXPECT_GT(written_, 0U);
}

TEST_F(ResultsWriterTest, WritesInOneHundredthOfTheTimeAtMost) {
  run_until(2, milliseconds(2), milliseconds(1));
  ASSERT_GE(writings_.size(), 2U);
  const auto duration = writings_[0].ended - writings_[0].began;
  EXPECT_GE(writings_[1].began - writings_[0].ended, duration * 99);
}

TEST_F(ResultsWriterTest, WritesNothingBeforeTheFirstInterval) {
  run_until(1, milliseconds(0), std::chrono::hours(1), milliseconds(50));
  EXPECT_TRUE(writings_.empty());
}

TEST_F(ResultsWriterTest, GoesOnAfterAFailureAndTellsIt) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("skyline_results_writer_" + std::to_string(::getpid()));
  log::start({file.string(), "", log::Level::kError});
  fails_ = true;
  run_until(2, milliseconds(0), milliseconds(10));
  log::stop();
  EXPECT_GE(writings_.size(), 2U);
  EXPECT_GT(std::filesystem::file_size(file), 0U);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace skyline::app
