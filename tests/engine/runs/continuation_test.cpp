// What becomes of kept states: with failed trials, lost files and killed jobs.
#include "comm/environment.hpp"
#include "engine/fixtures/rungs.hpp"
#include "store/weights/checkpoint.hpp"
#include "support/child_process.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using trial::CommittedTrial;
using trial::Failure;

class Continuation : public ::testing::Test {
 protected:
  RigRun run(const RunSpec& spec, bool resume = false) {
    return run_in(*environment_, folder_.path(), spec, resume);
  }
  std::string canonical() const { return store::canonical_journal(paths_.journal()); }
  bool is_kept(trial::TrialNumber number) const {
    return std::filesystem::exists(store::kept_state_path(paths_, number));
  }
  /// Waits for the storage thread.
  bool vanishes(trial::TrialNumber number) const {
    for (int i = 0; i < 5000 && is_kept(number); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return !is_kept(number);
  }
  std::int64_t steps_of(const RigRun& job, trial::TrialNumber number) const {
    const auto found = job.steps.find(std::to_string(number));
    return found == job.steps.end() ? 0 : found->second;
  }

  std::unique_ptr<comm::Environment> environment_ = comm::make_local_environment();
  ScratchFolder folder_;
  const store::RunPaths paths_{folder_.path()};
};

TEST_F(Continuation, OfAFailedTrialFailsAlikeWithoutTraining) {
  RunSpec spec = rungs_spec({.continues_failed = true});
  spec.hook = [](const trial::Trial& trial) {
    if (trial.architecture().genotype.choices[1] == 1) throw std::runtime_error("no kernel for this width");
  };
  const RigRun all = run(spec);
  std::size_t failed = 0;
  for (const CommittedTrial& committed : all.result.committed) {
    const trial::Trial& trial = committed.trial;
    if (trial.continues() == nullptr) continue;
    const auto* failure = std::get_if<Failure>(&committed.outcome);
    const CommittedTrial& earlier = all.result.committed[trial.continues()->from];
    ASSERT_EQ(failure != nullptr, std::holds_alternative<Failure>(earlier.outcome));
    if (failure == nullptr) continue;
    ++failed;
    EXPECT_EQ(failure->reason, std::get<Failure>(earlier.outcome).reason);
    EXPECT_FALSE(all.steps.contains(std::to_string(trial.number)));
  }
  EXPECT_GE(failed, 2U);
  const std::string expected = canonical();
  EXPECT_EQ(run(spec, true).evaluations, 0);
  EXPECT_EQ(canonical(), expected);
}

TEST_F(Continuation, NeedsNoCheckpoints) {
  RunSpec spec = rungs_spec();
  const std::string expected = canonical_of_one_process(spec);
  spec.options.checkpoints.reset();
  const RigRun all = run(spec);
  EXPECT_EQ(canonical(), expected);
  for (const CommittedTrial& committed : all.result.committed) {
    if (committed.trial.continues() == nullptr) continue;
    EXPECT_LT(steps_of(all, committed.trial.number), 4 * committed.trial.budget().epochs);
  }
}

TEST_F(Continuation, KeepsAStateForAsLongAsItIsOfUse) {
  RunSpec spec = rungs_spec();
  std::size_t seen = 0;
  spec.asked = [&](const trial::Trial& trial) {
    if (trial.is_final() && ++seen > 0) {
      for (trial::TrialNumber number = 0; number < 8; ++number) EXPECT_TRUE(vanishes(number)) << number;
    }
    if (trial.continues() == nullptr) return;
    EXPECT_TRUE(is_kept(trial.continues()->from)) << "of trial " << trial.number;
    if (trial.budget().epochs < 4) return;
    ++seen;
    for (trial::TrialNumber number = 0; number < 4; ++number) {
      EXPECT_TRUE(vanishes(number)) << "the first generation has been continued, or left behind";
    }
  };
  run(spec);
  EXPECT_GE(seen, 2U);
  EXPECT_THAT(store::kept_states(paths_), IsEmpty());
}

TEST_F(Continuation, TrainsFromTheStartToTheSameBitsWhereAStateIsLost) {
  RunSpec spec = rungs_spec();
  spec.options.inherit = true;
  spec.options.keep_weights = KeepWeights::kAll;
  const std::string expected = canonical_of_one_process(spec);
  std::set<trial::TrialNumber> heirs;
  spec.asked = [&](const trial::Trial& trial) {
    if (trial.continues() == nullptr) return;
    const auto file = store::kept_state_path(paths_, trial.continues()->from);
    std::filesystem::remove(file);
    if (trial.number % 2 == 0) std::ofstream(file, std::ios::binary) << "broken";
    if (trial.inherits() != nullptr) heirs.insert(trial.number);
  };
  ::testing::internal::CaptureStderr();
  const RigRun all = run(spec);
  const std::string warnings = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(canonical(), expected);
  EXPECT_THAT(warnings, HasSubstr("kept is not there; training from the start"));
  EXPECT_THAT(warnings, HasSubstr("kept cannot be used: "));
  EXPECT_THAT(heirs, Not(IsEmpty()));
  for (const CommittedTrial& committed : all.result.committed) {
    const trial::Trial& trial = committed.trial;
    if (trial.is_final()) continue;
    EXPECT_EQ(steps_of(all, trial.number), 4 * trial.budget().epochs) << "of trial " << trial.number;
    if (!heirs.contains(trial.number)) continue;
    EXPECT_EQ(all.heirs.at(trial.number), trial.inherits()->from);
  }
}

TEST_F(Continuation, OfARunThatIsExtendedTrainsWhatItNeeds) {
  run(rungs_spec({.budgets = {1, 2, 4}, .generations = 1}));
  EXPECT_THAT(store::kept_states(paths_), IsEmpty());
  const RunSpec longer = rungs_spec({.budgets = {1, 2, 4}, .generations = 3});
  const std::string expected = canonical_of_one_process(longer);
  std::filesystem::remove(paths_.journal());
  run(longer);
  EXPECT_EQ(canonical(), expected);
}

TEST_F(Continuation, GoesOnAfterAKillInTheMiddleOfAContinuedTrial) {
  RunSpec spec = rungs_spec({.budgets = {1, 4}});
  spec.options.checkpoints =
      CheckpointOptions{.interval_s = {}, .interval_epochs = 0.25, .most_overhead = 1e9};
  const std::string expected = canonical_of_one_process(spec);
  for (const bool with_checkpoint : {true, false}) {
    std::filesystem::remove_all(folder_.path() / "checkpoints");
    std::filesystem::remove(paths_.journal());
    RunSpec killed = spec;
    if (!with_checkpoint) killed.options.checkpoints.reset();
    killed.held = [&](const trial::Trial& trial) {
      if (trial.continues() == nullptr) return false;
      const auto file = store::checkpoint_path(paths_, trial.name(), 0);
      while (with_checkpoint && !std::filesystem::exists(file)) std::this_thread::yield();
      ::kill(::getpid(), SIGKILL);
      return true;
    };
    const int status = testing::wait_for_child(testing::start_child([&] { run(killed); }));
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT_THAT(store::kept_states(paths_), Not(IsEmpty()));
    const RigRun rest = run(spec, true);
    EXPECT_EQ(canonical(), expected);
    const CommittedTrial* killed_trial = nullptr;
    for (const CommittedTrial& committed : rest.result.committed) {
      if (committed.trial.continues() == nullptr) continue;
      killed_trial = &committed;
      break;
    }
    ASSERT_NE(killed_trial, nullptr);
    const std::int64_t steps = steps_of(rest, killed_trial->trial.number);  // 16 in all, 4 of which were kept
    EXPECT_LE(steps, with_checkpoint ? 11 : 12);
    EXPECT_GE(steps, 8);
    EXPECT_THAT(store::kept_states(paths_), IsEmpty());
  }
}

}  // namespace
}  // namespace skyline::engine
