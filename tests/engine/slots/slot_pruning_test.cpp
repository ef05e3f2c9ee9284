#include "engine/fixtures/engine_rig.hpp"
#include "engine/slots/known_values.hpp"
#include "support/scratch_folder.hpp"
#include "support/yaml_config.hpp"

#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PruningOfASlot : public ::testing::Test {
 protected:
  PruningOfASlot() {
    fs::create_directory(paths_.checkpoints());
    trial_.number = 17;
    trial_.proposal.architecture =
        std::make_shared<const space::Architecture>(test_space().build({{1, 1, 0}}));
    trial_.bars = {{1, {}}, {3, {-0.5}}, {9, {-0.8}}};
  }
  KnownValues& known() {
    const auto rank = std::make_shared<RankValues>(RankValues{files_, {{objectives_, header_.metrics}}});
    return known_.emplace_back(rank, trial_);
  }
  SlotPruning attempt() { return SlotPruning(known()); }
  static bool decide(SlotPruning& pruning, std::int64_t step, double accuracy) {
    return pruning.decide({step, {{"loss", 1}, {"accuracy", accuracy}}});
  }
  static std::vector<std::pair<std::int64_t, bool>> decisions(const SlotPruning& pruning) {
    std::vector<std::pair<std::int64_t, bool>> all;
    for (const auto& [step, stop] : pruning.decisions()) all.emplace_back(step, stop);
    return all;
  }
  bool has_file() {
    storage_.drain();
    return fs::exists(paths_.checkpoints() / "17.steps.json");
  }

  const testing::ScratchFolder scratch_;
  const store::RunPaths paths_{scratch_.path()};
  store::JournalHeader header_{
      .skyline_version = "1", .config_hash = "c", .metrics = {{.name = "accuracy", .has_course = true}}};
  objective::ObjectiveSet objectives_ = objective::ObjectiveSet::parse(
      testing::config_from_yaml("[maximize: accuracy]"), nullptr, header_.metrics);
  store::StorageThread storage_;
  const RunFiles files_{paths_, header_, storage_};
  trial::Trial trial_;
  std::deque<KnownValues> known_;  // values of each attempt
};

TEST_F(PruningOfASlot, EndsATrialThatABarDominates) {
  SlotPruning pruning = attempt();
  EXPECT_THAT(pruning.compared(), ElementsAre("accuracy"));
  EXPECT_FALSE(decide(pruning, 1, 0.1));
  EXPECT_FALSE(decide(pruning, 3, 0.5));
  EXPECT_TRUE(decide(pruning, 9, 0.7));
  trial::Outcome outcome = trial::Measurements{.values = {}, .extent = trial::Extent::kPruned};
  pruning.complete(outcome, false);
  const auto& measured = std::get<trial::Measurements>(outcome);
  EXPECT_THAT(measured.values, ElementsAre(0.7));
  ASSERT_EQ(measured.steps.size(), 3U);
  EXPECT_EQ(measured.steps[1].step, 3);
}

TEST_F(PruningOfASlot, EndsATrialWhereItWasToldHoweverLateItNotices) {
  {
    SlotPruning pruning = attempt();
    decide(pruning, 1, 0.1);
    decide(pruning, 3, 0.2);
    decide(pruning, 9, 0.99);
  }
  SlotPruning later = attempt();
  trial::Outcome outcome = trial::Measurements{.values = {}, .extent = trial::Extent::kPruned};
  later.complete(outcome, false);
  const auto& measured = std::get<trial::Measurements>(outcome);
  ASSERT_EQ(measured.steps.size(), 2U);
  EXPECT_EQ(measured.steps.back().step, 3);
  EXPECT_THAT(measured.values, ElementsAre(0.2));
}

TEST_F(PruningOfASlot, TellsATrialThatRunsOnAgainAndKeepsItsResult) {
  SlotPruning pruning = attempt();
  EXPECT_TRUE(decide(pruning, 3, 0.2));
  EXPECT_TRUE(decide(pruning, 9, 0.99));
  trial::Outcome outcome = trial::Measurements{{0.9}};
  pruning.complete(outcome, false);
  EXPECT_TRUE(trial::is_whole(outcome));
  EXPECT_THAT(std::get<trial::Measurements>(outcome).values, ElementsAre(0.9));
  EXPECT_EQ(std::get<trial::Measurements>(outcome).steps.size(), 2U);
  trial::Outcome failed = trial::Failure{};
  pruning.complete(failed, false);
  EXPECT_TRUE(std::holds_alternative<trial::Failure>(failed));
}

TEST_F(PruningOfASlot, EndsATrialThatHangsAfterItWasToldTo) {
  SlotPruning pruning = attempt();
  const auto ended = [&](trial::FailureKind kind, bool overran) -> trial::Outcome {
    trial::Outcome outcome = trial::Failure{kind, "stopped on request"};
    pruning.complete(outcome, overran);
    return outcome;
  };
  const auto is_failure = [](const trial::Outcome& outcome) {
    return std::holds_alternative<trial::Failure>(outcome);
  };
  EXPECT_TRUE(is_failure(ended(trial::FailureKind::kStopped, true))) << "nothing was decided";
  EXPECT_FALSE(decide(pruning, 1, 0.1));
  EXPECT_TRUE(is_failure(ended(trial::FailureKind::kStopped, true))) << "it was told to go on";
  EXPECT_TRUE(decide(pruning, 3, 0.2));
  EXPECT_TRUE(is_failure(ended(trial::FailureKind::kStopped, false))) << "the run was stopped";
  EXPECT_TRUE(is_failure(ended(trial::FailureKind::kException, true))) << "it failed by itself";
  const trial::Outcome outcome = ended(trial::FailureKind::kStopped, true);
  const auto& measured = std::get<trial::Measurements>(outcome);
  EXPECT_EQ(measured.extent, trial::Extent::kPruned);
  EXPECT_THAT(measured.values, ElementsAre(0.2));
  EXPECT_EQ(measured.steps.size(), 2U);
}

TEST_F(PruningOfASlot, LetsATrialWithoutAValueGoOnWithAWarning) {
  SlotPruning pruning = attempt();
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(pruning.decide({3, {{"loss", 1}}}));
  EXPECT_FALSE(decide(pruning, 9, std::nan("")));
  EXPECT_THAT(
      ::testing::internal::GetCapturedStderr(),
      HasSubstr("trial 17: an objective has no value after step 3, so the trial is not compared there"));
}

TEST_F(PruningOfASlot, DecidesAlikeInALaterAttemptAndInALaterJob) {
  SlotPruning first = attempt();
  decide(first, 1, 0.1);
  decide(first, 3, 0.4);
  SlotPruning later = attempt();
  EXPECT_THAT(decisions(later), ElementsAre(std::pair(1, false), std::pair(3, true)));
  EXPECT_TRUE(decide(later, 3, 0.9)) << "what was decided stands";
  trial_.seed = 5;
  EXPECT_THAT(decisions(attempt()), IsEmpty()) << "it is of another trial";
}

TEST_F(PruningOfASlot, LeavesOutAStepThatAnEarlierAttemptHasNotReported) {
  SlotPruning first = attempt();
  decide(first, 3, 0.9);
  SlotPruning later = attempt();
  EXPECT_FALSE(decide(later, 1, 0.1));
  EXPECT_TRUE(decide(later, 9, 0.1));
  EXPECT_TRUE(decide(later, 1, 0.9)) << "it was told to end";
  EXPECT_THAT(decisions(later), ElementsAre(std::pair(3, false), std::pair(9, true)));
}

TEST_F(PruningOfASlot, IsForgottenOnceTheResultIsInTheJournal) {
  SlotPruning pruning = attempt();
  decide(pruning, 1, 0.1);
  KnownValuesRemoval removal(files_, false);
  const run::RunState state;
  trial::CommittedTrial committed{trial_, trial::Measurements{{0.9}}, {}};
  removal.committed({std::make_shared<const trial::CommittedTrial>(committed), true}, state);
  EXPECT_TRUE(has_file()) << "an earlier job had committed it";
  removal.committed({std::make_shared<const trial::CommittedTrial>(committed), false}, state);
  EXPECT_FALSE(has_file());
}

/// A run with an objective that a program is asked for before the training.
class PruningByWhatWasAsked : public PruningOfASlot {
 protected:
  PruningByWhatWasAsked() {
    header_.metrics.push_back({.name = "board_ms", .better = trial::Better::kLower, .is_before = true});
    asking_.emplace(RunFiles{paths_, header_, storage_});
    objectives_ = objective::ObjectiveSet::parse(
        testing::config_from_yaml("[maximize: accuracy, minimize: board_ms]"), nullptr, header_.metrics);
    trial_.bars = {{1, {-0.5, 10}}};
  }
  KnownValues& asked() {
    const RankValues rank{*asking_, {{objectives_, header_.metrics}}};
    return known_.emplace_back(std::make_shared<RankValues>(rank), trial_);
  }

  std::optional<RunFiles> asking_;
};

TEST_F(PruningByWhatWasAsked, ComparesItAfterEachStep) {
  asked().keep("board_ms", 20);
  SlotPruning dominated(asked());
  EXPECT_THAT(dominated.compared(), ElementsAre("accuracy"));
  EXPECT_TRUE(decide(dominated, 1, 0.4)) << "a later attempt knows the answer";
  trial::Outcome outcome = trial::Measurements{.values = {}, .extent = trial::Extent::kPruned};
  dominated.complete(outcome, false);
  EXPECT_THAT(std::get<trial::Measurements>(outcome).values, ElementsAre(0.4, 20));
  trial_.seed = 5;
  KnownValues& fast = asked();
  fast.keep("board_ms", 9);
  SlotPruning of_fast(fast);
  EXPECT_FALSE(decide(of_fast, 1, 0.4));
}

TEST_F(PruningByWhatWasAsked, IsKeptForAFullTrainingUntilTheTrialLeavesTheFront) {
  asked().keep("board_ms", 20);
  KnownValuesRemoval removal(*asking_, false);
  run::RunState state(objectives_);
  const auto commit = [&](std::uint64_t number, double accuracy) {
    trial::CommittedTrial committed{trial_, trial::Measurements{{accuracy, 20}}, {}};
    committed.trial.number = number;
    committed.position = state.trials().size();
    const run::Commit made{std::make_shared<const trial::CommittedTrial>(committed), false};
    state.add(made);
    removal.committed(made, state);
  };
  commit(17, 0.5);
  EXPECT_TRUE(has_file());
  commit(18, 0.9);
  EXPECT_FALSE(has_file());
}

}  // namespace
}  // namespace skyline::engine
