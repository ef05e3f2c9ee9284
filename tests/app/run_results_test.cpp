#include "app/job/run_results.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

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
  /// A run whose results take a while to write.
  void run_for(milliseconds time, milliseconds writing, ResultsWriter::Seconds interval) {
    ResultsWriter writer(
        [&](const run::RunState& state, const run::RunAccount&, const std::stop_token&) {
          ++writings_;
          written_ = state.trials().size();
          std::this_thread::sleep_for(writing);
          if (fails_) throw UserError("no space left");
        },
        interval);
    run::RunState state(objectives());
    writer.started(state);
    const auto end = ResultsWriter::Clock::now() + time;
    while (ResultsWriter::Clock::now() < end) {
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

  std::atomic<int> writings_{0};
  std::atomic<std::size_t> written_{0};
  bool fails_ = false;
};

TEST_F(ResultsWriterTest, WritesWhatIsThereAgainAndAgain) {
  run_for(milliseconds(1000), milliseconds(0), milliseconds(10));
  EXPECT_GE(writings_, 2);
  EXPECT_GT(written_, 0U);
}

TEST_F(ResultsWriterTest, WritesInOneHundredthOfTheTimeAtMost) {
  run_for(milliseconds(400), milliseconds(20), milliseconds(1));
  EXPECT_EQ(writings_, 1) << "the next one would come after two seconds";
}

TEST_F(ResultsWriterTest, WritesNothingBeforeTheFirstInterval) {
  run_for(milliseconds(50), milliseconds(0), std::chrono::hours(1));
  EXPECT_EQ(writings_, 0);
}

TEST_F(ResultsWriterTest, GoesOnAfterAFailureAndTellsIt) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("skyline_results_writer_" + std::to_string(::getpid()));
  log::start({file.string(), "", log::Level::kError});
  fails_ = true;
  run_for(milliseconds(1000), milliseconds(0), milliseconds(10));
  log::stop();
  EXPECT_GE(writings_, 2);
  EXPECT_GT(std::filesystem::file_size(file), 0U);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace skyline::app
