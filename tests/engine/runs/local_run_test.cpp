#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "comm/environment.hpp"
#include "core/log.hpp"
#include "engine/fixtures/engine_rig.hpp"
#include "engine/loop/trial_maker.hpp"
#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::user_error_of;

class LocalRun : public ::testing::Test {
 protected:
  RigRun run(const RunSpec& spec, bool resume = false) {
    return run_in(*environment_, folder_.path(), spec, resume);
  }
  RigRun run_of_its_own(const RunSpec& spec) {
    const ScratchFolder folder;
    return run_in(*environment_, folder.path(), spec);
  }
  std::string resume_error(const RunSpec& spec) {
    return user_error_of([&] { run(spec, true); });
  }
  /// Lines of the run's log, on one processor, that say `text`.
  long lines_with(const std::string& text, const RunSpec& spec) {
    const ScratchFolder folder;
    const std::string file = folder.path() / "log";
    log::start({.file = file, .prefix = ""});
    RunSpec on_one = spec;
    on_one.most_processors = 1;
    run(on_one);
    log::stop();
    std::ifstream log(file);
    long count = 0;
    for (std::string line; std::getline(log, line);) count += line.find(text) == std::string::npos ? 0 : 1;
    return count;
  }
  const std::filesystem::path& root() { return folder_.path(); }

 private:
  std::unique_ptr<comm::Environment> environment_ = comm::make_local_environment();
  ScratchFolder folder_;
};

TEST_F(LocalRun, TellsItsObserverWhatHappens) {
  const RigRun all = run(evolution_spec());
  ASSERT_GT(all.result.committed.size(), 10U);
  EXPECT_EQ(all.observer.slots, 1U);
  EXPECT_EQ(all.observer.replayed, 0U);
  EXPECT_EQ(all.observer.expected_final,
            static_cast<std::size_t>(std::ranges::count_if(
                all.result.committed, [](const auto& committed) { return committed.trial.is_final(); })));
  EXPECT_GE(all.observer.ticks, 1);
  ASSERT_EQ(all.observer.positions.size(), all.result.committed.size());
  for (std::size_t i = 0; i < all.observer.positions.size(); ++i) EXPECT_EQ(all.observer.positions[i], i);
  EXPECT_FALSE(all.result.finish_reason.empty());
}

TEST_F(LocalRun, SeedsATrialByRunArchitectureHorizonAndRepeatAlone) {
  constexpr space::ArchId kArch{2};
  const std::uint64_t seed = trial_seed(1, kArch, {0.5}, 0);
  EXPECT_EQ(seed, trial_seed(1, kArch, {0.5}, 0));
  EXPECT_NE(seed, trial_seed(2, kArch, {0.5}, 0));
  EXPECT_NE(seed, trial_seed(1, space::ArchId{3}, {0.5}, 0));
  EXPECT_NE(seed, trial_seed(1, kArch, {0.25}, 0));
  EXPECT_NE(seed, trial_seed(1, kArch, {0.5}, 1));
  EXPECT_NE(trial_seed(1, kArch, {0.5}, 2), trial_seed(1, kArch, {0.5}, 1));
  for (const auto& committed : run(evolution_spec()).result.committed) {
    EXPECT_EQ(committed.trial.seed,
              trial_seed(5, committed.trial.architecture().id, committed.trial.horizon(), 0));
  }
}

TEST_F(LocalRun, SeedsTheRepetitionsOfAListAsTheirFullTrainings) {
  RunSpec spec = evolution_spec();
  spec.search = testing::config_from_yaml("{algorithm: listed, genotypes: [[0, 0, 0]], seeds: 3}", "run.yaml",
                                          "search");
  spec.final_epochs = 2;
  const RigRun all = run(spec);
  std::vector<std::uint64_t> seeds;
  for (const auto& committed : all.result.committed) {
    const trial::Trial& trial = committed.trial;
    EXPECT_EQ(trial.proposal.repeat, trial.number);
    EXPECT_EQ(trial.seed, trial_seed(5, trial.architecture().id, trial.horizon(), trial.proposal.repeat));
    seeds.push_back(trial.seed);
  }
  EXPECT_GT(seeds.size(), 3U) << "no full training";
  std::ranges::sort(seeds);
  EXPECT_EQ(std::ranges::adjacent_find(seeds), seeds.end());
}

/// Runs of earlier versions go on.
TEST_F(LocalRun, SeedsARepetitionAsARunWithAnotherSeedWould) {
  constexpr space::ArchId kArch{2};
  EXPECT_EQ(trial_seed(1, kArch, {0.5}, 3), trial_seed(derive_seed(1, "engine.seeds", {3}), kArch, {0.5}, 0));
  EXPECT_NE(trial_seed(1, kArch, {0.5}, 3, 2), trial_seed(1, kArch, {0.5}, 3, 0));
  EXPECT_NE(trial_seed(1, kArch, {0.5}, 3, 2), trial_seed(1, kArch, {0.5}, 2, 3));
  EXPECT_EQ(trial_seed(1, kArch, {0.5}, 0), derive_seed(1, "trial", {2, std::bit_cast<std::uint64_t>(0.5)}));
}

TEST_F(LocalRun, KeepsNoMoreInFlightThanTheWindow) {
  RunSpec spec = evolution_spec();
  spec.options.window = 3;
  spec.options.slots = 4;
  EXPECT_LE(run(spec).observer.most_in_flight, 3U);
}

TEST_F(LocalRun, ReplaysAFinishedRunWithoutTrainingAnything) {
  const RigRun first = run(evolution_spec());
  const std::string journal = store::canonical_journal(root() / "journal.jsonl");
  const RigRun again = run(evolution_spec(), true);
  EXPECT_EQ(again.evaluations, 0);
  EXPECT_EQ(again.observer.replayed, first.result.committed.size());
  EXPECT_TRUE(again.observer.positions.empty());
  EXPECT_EQ(again.result.committed.size(), first.result.committed.size());
  EXPECT_EQ(again.result.on_front, first.result.on_front);
  EXPECT_TRUE(again.result.account.slots.empty());
  EXPECT_EQ(store::canonical_journal(root() / "journal.jsonl"), journal);
}

TEST_F(LocalRun, RefusesAJournalThatAnotherConfigurationWrote) {
  run(evolution_spec());
  RunSpec other = evolution_spec();
  other.options.seed = 7;
  EXPECT_THAT(resume_error(other),
              ContainsRegex(
                  "^journal position 0: trial 0 is [0-9a-f]{16} but this configuration asks for [0-9a-f]{16}"
                  "; resume with the configuration and version that the run was started with$"));
}

TEST_F(LocalRun, RefusesAJournalOfAnotherBudgetAndNamesBoth) {
  run(evolution_spec());
  RunSpec other = evolution_spec();
  other.epochs = 0.5;
  EXPECT_THAT(
      resume_error(other),
      ContainsRegex("^journal position 0: trial 0, [0-9a-f]{16}, has `epochs` 0.25 but this configuration "
                    "asks for `epochs` 0.5; resume with"));
}

TEST_F(LocalRun, RefusesAJournalOfAnotherGroupAndNamesBoth) {
  run(evolution_spec());
  RunSpec other = evolution_spec();
  other.members = [](const trial::Trial&) { return 2U; };
  EXPECT_THAT(
      resume_error(other),
      ContainsRegex(
          "^journal position 0: trial 0, [0-9a-f]{16}, has `members` 1 but this configuration asks for "
          "`members` 2; resume with"));
}

TEST_F(LocalRun, WarnsOnceOfMoreMembersThanARankHasProcessors) {
  RunSpec spec = evolution_spec();
  spec.members = [](const trial::Trial&) { return 3U; };
  EXPECT_EQ(lines_with("a group of 3 members has 3 on a rank with 1 processor: right, but slower", spec), 1);
}

TEST_F(LocalRun, RefusesAGroupOfAnEvaluatorThatSaysItFormsNoneAndNamesBothFunctions) {
  RunSpec spec = evolution_spec();
  spec.members = [](const trial::Trial&) { return 2U; };
  spec.admits_groups = false;
  std::string said;
  spec.failed = [&said](const std::exception& error) { said = error.what(); };
  EXPECT_THROW(run(spec), InternalError);
  EXPECT_THAT(said, ContainsRegex("members_for.* asks for a group, but .*forms_groups.* forms none"));
}

TEST_F(LocalRun, SavesItsRunningTrialsBeforeItEndsForARankThatHangs) {
  std::atomic<bool> is_half_done = false;
  RunSpec spec = evolution_spec();
  spec.held = [&](const trial::Trial& trial) {
    is_half_done = is_half_done || trial.number == 3;
    return trial.number == 3;
  };
  spec.hang = [&] { return is_half_done ? std::optional(Hang{"rank 1 hangs"}) : std::nullopt; };
  std::string said;
  spec.failed = [&said](const std::exception& error) { said = error.what(); };
  EXPECT_THROW(run(spec), FaultError);
  EXPECT_EQ(said, "rank 1 hangs");
  spec.held = {};
  spec.hang = {};
  const RigRun rest = run(spec, true);
  EXPECT_EQ(rest.steps.at("3"), spec.steps / 2);
  EXPECT_FALSE(rest.steps.contains("2"));
}

TEST_F(LocalRun, RefusesAJournalThatGoesOnAfterTheEndOfTheRun) {
  run(evolution_spec());
  RunSpec other = evolution_spec();
  other.search.set("iterations", ConfigNode::make_integer(2));
  const RigRun shorter = run_of_its_own(other);
  const std::size_t searched = shorter.result.committed.size() - shorter.observer.expected_final;
  EXPECT_THAT(resume_error(other), HasSubstr("journal position " + std::to_string(searched) + ": trial " +
                                             std::to_string(searched) + " is "));
  EXPECT_THAT(resume_error(other), HasSubstr("but this configuration asks for "));
  other.final_epochs.reset();
  EXPECT_THAT(resume_error(other), HasSubstr("but this configuration asks for nothing more"));
}

TEST_F(LocalRun, RefusesToStartOverAnExistingJournal) {
  run(evolution_spec());
  EXPECT_THAT(user_error_of([&] { run(evolution_spec()); }), HasSubstr("journal.jsonl"));
}

TEST_F(LocalRun, EndsWithAMessageWhenWeightsCannotBeWritten) {
  RunSpec spec = evolution_spec();
  spec.options.keep_weights = KeepWeights::kAll;
  spec.hook = [this](const trial::Trial& trial) {
    if (trial.number == 3) std::filesystem::rename(root() / "weights", root() / "gone");
  };
  EXPECT_THAT(user_error_of([&] { run(spec); }), HasSubstr((root() / "weights").string()));
}

TEST_F(LocalRun, NeedsASecondRankToCoordinateOnly) {
  RunSpec spec = evolution_spec();
  spec.options.coordinator_only = true;
  EXPECT_EQ(user_error_of([&] { run(spec); }),
            "a rank 0 that coordinates only needs at least 2 ranks, got 1");
}

TEST_F(LocalRun, RefusesZeroSlotsAndThreads) {
  RunSpec spec = evolution_spec();
  spec.options.slots = 0;
  EXPECT_EQ(user_error_of([&] { run(spec); }), "slots of a rank: expected at least 1, got 0");
  spec = evolution_spec();
  spec.options.threads_per_slot = 0;
  EXPECT_EQ(user_error_of([&] { run(spec); }), "threads per slot: expected at least 1, got 0");
}

}  // namespace
}  // namespace skyline::engine
