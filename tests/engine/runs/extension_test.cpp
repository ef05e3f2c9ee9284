#include "comm/environment.hpp"
#include "engine/fixtures/rungs.hpp"

#include <fstream>

#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using trial::CommittedTrial;
using trial::Phase;

class Extension : public ::testing::Test {
 protected:
  RigRun run(const RunSpec& spec, bool resume) { return run_in(*environment_, folder_.path(), spec, resume); }
  std::string canonical() { return store::canonical_journal(journal()); }
  std::filesystem::path journal() { return store::RunPaths{folder_.path()}.journal(); }

  /// Keeps the first lines of the journal: header and `trials` trials.
  void cut_journal(std::size_t trials) {
    std::ifstream file(journal());
    std::string kept;
    std::string line;
    for (std::size_t i = 0; i < trials + 1 && std::getline(file, line); ++i) kept += line + '\n';
    file.close();
    std::ofstream(journal()) << kept;
  }

  ScratchFolder folder_;

 private:
  std::unique_ptr<comm::Environment> environment_ = comm::make_local_environment();
};

RunSpec with_iterations(std::size_t iterations, std::optional<std::size_t> window) {
  RunSpec spec = evolution_spec(iterations);
  spec.options.window = window;
  return spec;
}

std::vector<std::string> trained(const std::vector<CommittedTrial>& committed, Phase phase) {
  std::vector<std::string> ids;
  for (const CommittedTrial& entry : committed) {
    if (entry.trial.phase() == phase) ids.push_back(to_text(entry.trial.architecture().id));
  }
  return ids;
}

/// Returns the position of a search trial.
trial::CommitPosition position_of(const RigRun& run, trial::TrialNumber number) {
  const auto found = std::ranges::find_if(run.result.committed, [&](const CommittedTrial& entry) {
    return entry.trial.name() == trial::TrialName{number};
  });
  return found->position;
}

TEST_F(Extension, GoesOnAfterTheFullTrainingOfAFinishedRun) {
  for (const std::optional<std::size_t> window :
       {std::optional<std::size_t>{}, std::optional<std::size_t>{4}}) {
    std::filesystem::remove(journal());
    const RigRun first = run(with_iterations(2, window), false);
    const RigRun longer = run(with_iterations(4, window), true);
    const auto& all = longer.result.committed;
    const std::size_t before = first.result.committed.size();
    ASSERT_GT(all.size(), before);
    EXPECT_EQ(longer.observer.replayed, before);
    EXPECT_EQ(longer.observer.positions.size(), all.size() - before);
    for (std::size_t i = 0; i < before; ++i) {
      EXPECT_EQ(all[i].trial.phase(), first.result.committed[i].trial.phase());
      EXPECT_EQ(all[i].trial.architecture().id, first.result.committed[i].trial.architecture().id);
    }
    EXPECT_EQ(all[before].trial.phase(), Phase::kSearch);

    // The search asks for what it would have asked without the full training in between.
    std::vector<std::string> searched;
    {
      const ScratchFolder folder;
      const auto environment = comm::make_local_environment();
      RunSpec straight = with_iterations(4, window);
      straight.final_epochs.reset();
      searched = trained(run_in(*environment, folder.path(), straight).result.committed, Phase::kSearch);
    }
    EXPECT_EQ(trained(all, Phase::kSearch), searched);
  }
}

TEST_F(Extension, TrainsEveryMemberOfTheFrontOnce) {
  run(with_iterations(2, std::nullopt), false);
  const RigRun longer = run(with_iterations(4, std::nullopt), true);
  std::map<std::string, int> full;
  for (const std::string& id : trained(longer.result.committed, Phase::kFinal)) ++full[id];
  for (const auto& [id, times] : full) EXPECT_EQ(times, 1) << id;
  for (const CommittedTrial& entry : longer.result.committed) {
    const trial::Trial& trial = entry.trial;
    const bool on_front = longer.result.on_front[entry.position];
    if (!trial.is_final() && on_front) {
      EXPECT_EQ(full.count(to_text(trial.architecture().id)), 1U);
    }
    if (trial.is_final()) {
      EXPECT_EQ(on_front, longer.result.on_front[position_of(longer, trial.number)]);
    }
  }
}

TEST_F(Extension, ReplaysToTheSameWhereverItIsCut) {
  const std::size_t before = run(with_iterations(2, 4), false).result.committed.size();
  const RunSpec longer = with_iterations(4, 4);
  const RigRun whole = run(longer, true);
  const std::string expected = canonical();
  for (std::size_t kept = before; kept < whole.result.committed.size(); kept += 3) {
    cut_journal(kept);
    const RigRun rest = run(longer, true);
    EXPECT_EQ(canonical(), expected) << kept;
    EXPECT_EQ(rest.result.on_front, whole.result.on_front);
  }
}

TEST_F(Extension, OfCommitsByVirtualTimeKeepsTheJournalAndReplaysToTheSameWhereverItIsCut) {
  const auto steady = [](std::size_t iterations) {
    RunSpec spec = with_iterations(iterations, 6);
    spec.options.virtual_slots = 3;
    spec.options.commit = CommitBy::kVirtualTime;
    spec.search.set("breed", ConfigNode::make_scalar("commit", {}));
    return spec;
  };
  const std::size_t before = run(steady(2), false).result.committed.size();
  const std::string shorter = canonical();
  const RigRun whole = run(steady(3), true);
  const std::string expected = canonical();
  EXPECT_TRUE(expected.starts_with(shorter));
  ASSERT_GT(whole.result.committed.size(), before);
  for (std::size_t kept = before; kept < whole.result.committed.size(); kept += 3) {
    cut_journal(kept);
    const RigRun rest = run(steady(3), true);
    EXPECT_EQ(canonical(), expected) << kept;
    EXPECT_EQ(rest.result.on_front, whole.result.on_front);
  }
}

TEST_F(Extension, ContinuesHeirsWhoseParentHasLeftTheFront) {
  const auto rungs = [](std::size_t played) {
    RunSpec spec = rungs_spec({.generations = 4, .repeats = 1, .played = played});
    spec.options.inherit = true;
    spec.options.keep_weights = KeepWeights::kFront;
    spec.final_epochs.reset();
    return spec;
  };
  run(rungs(100), false);
  const std::string expected = canonical();
  for (const bool state_is_lost : {false, true}) {
    std::filesystem::remove_all(folder_.path());
    const RigRun shorter = run(rungs(4), false);
    if (state_is_lost) {
      const auto checkpoints = store::RunPaths{folder_.path()}.checkpoints();
      std::filesystem::remove_all(checkpoints);
      std::filesystem::create_directories(checkpoints);
    }
    const RigRun longer = run(rungs(100), true);
    EXPECT_EQ(canonical(), expected);
    std::size_t heirs = 0;  // heirs that need more than the front has
    for (const CommittedTrial& entry : longer.result.committed) {
      const trial::Trial& trial = entry.trial;
      if (entry.position < shorter.result.committed.size() || trial.continues() == nullptr) continue;
      const bool began_before = trial.continues()->from < shorter.result.committed.size();
      if (began_before && trial.inherits() != nullptr &&
          !shorter.result.on_front[position_of(shorter, trial.inherits()->from)])
        ++heirs;
    }
    EXPECT_GT(heirs, 0U);
  }
}

TEST_F(Extension, TakesAnotherBudgetOfTheFullTrainingBesideTheOneBefore) {
  RunSpec spec = with_iterations(2, std::nullopt);
  const RigRun first = run(spec, false);
  const std::size_t members = first.observer.expected_final;
  spec.final_epochs = 4;
  const RigRun second = run(spec, true);
  EXPECT_EQ(second.observer.positions.size(), members);
  EXPECT_EQ(second.result.committed.size(), first.result.committed.size() + members);
  EXPECT_EQ(second.result.committed.back().trial.budget().epochs, 4);
  // Both stay, with the first budget again or without any full training.
  const std::string journal_of_both = canonical();
  spec.final_epochs = 2;
  EXPECT_EQ(run(spec, true).evaluations, 0);
  spec.final_epochs.reset();
  EXPECT_EQ(run(spec, true).evaluations, 0);
  EXPECT_EQ(canonical(), journal_of_both);
}

}  // namespace
}  // namespace skyline::engine
