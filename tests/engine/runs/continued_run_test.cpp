// Runs whose searcher continues trials with larger budgets, on several ranks.
#include "engine/fixtures/rungs.hpp"
#include "engine/fixtures/shared_run_test.hpp"
#include "store/publish/publish.hpp"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::IsEmpty;
using ::testing::NanSensitiveDoubleNear;
using ::testing::Pointwise;
using trial::CommittedTrial;

class ContinuedRun : public SharedRunTest {
 protected:
  /// The steps that the trials of a run take if each continues where the one before ended.
  static StepCounts needed_steps(const RigRun& whole, const RunSpec& spec) {
    StepCounts needed;
    for (const CommittedTrial& committed : whole.result.committed) {
      const trial::Trial& trial = committed.trial;
      const double done = trial.continues() == nullptr ? 0 : trial.continues()->epochs;
      needed[to_text(trial.name())] =
          static_cast<std::int64_t>(static_cast<double>(spec.steps) * (trial.budget().epochs - done));
    }
    return needed;
  }
};

TEST_F(ContinuedRun, WritesTheSameJournalOnAnyNumberOfRanksAndSlotsAndRepeatsNoStep) {
  for (const bool inherit : {false, true}) {
    for (const std::optional<std::size_t> window :
         {std::optional<std::size_t>{}, std::optional<std::size_t>{3}}) {
      const std::string name =
          std::string(inherit ? "heirs_" : "fresh_") + (window ? "window" : "generation");
      RunSpec spec = rungs_spec();
      spec.options.inherit = inherit;
      spec.options.keep_weights = inherit ? KeepWeights::kAll : KeepWeights::kNone;
      spec.options.window = window;
      const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
      spec.options.slots = 2;
      spec.hook = shuffling_delay();
      const RigRun all = run(name, spec);
      const StepCounts steps = all_steps(all);
      if (rank() != 0) continue;
      EXPECT_EQ(canonical(name), expected) << name;
      EXPECT_EQ(steps, needed_steps(all, spec)) << name;
      EXPECT_THAT(checkpoints(name), IsEmpty());
      std::size_t continued_heirs = 0;
      for (const CommittedTrial& committed : all.result.committed) {
        if (committed.trial.continues() != nullptr && committed.trial.inherits() != nullptr)
          ++continued_heirs;
      }
      EXPECT_EQ(continued_heirs > 0, inherit);
    }
  }
}

TEST_F(ContinuedRun, ContinuesTrialsOfAnyRankFromTheirKeptStates) {
  RunSpec spec = rungs_spec({.new_ones = 8});
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  expect_strangers([&](const std::string& name, std::atomic<std::size_t>& strangers) {
    spec.hook = [&, delay = shuffling_delay()](const trial::Trial& trial) {
      delay(trial);
      if (trial.continues() != nullptr && trial.continues()->holder != rank()) ++strangers;
    };
    const RigRun all = run(name, spec);
    const StepCounts steps = all_steps(all);
    if (rank() != 0) return;
    EXPECT_EQ(canonical(name), expected);
    EXPECT_EQ(steps, needed_steps(all, spec));
  });
}

TEST_F(ContinuedRun, EndsTrialsInTheBitsOfThoseThatWereLongFromTheStart) {
  const RigRun rungs = run("rungs", rungs_spec());
  const RigRun whole = run("whole", rungs_spec({.budgets = {4}}));
  if (rank() != 0) return;
  std::map<space::ArchId, std::vector<double>> expected;
  for (const CommittedTrial& committed : whole.result.committed) {
    if (committed.trial.is_final()) continue;
    EXPECT_EQ(committed.trial.continues(), nullptr);
    expected[committed.trial.architecture().id] = std::get<trial::Measurements>(committed.outcome).values;
  }
  std::size_t compared = 0;
  for (const CommittedTrial& committed : rungs.result.committed) {
    if (committed.trial.is_final() || committed.trial.budget().epochs != 4) continue;
    ++compared;
    EXPECT_NE(committed.trial.continues(), nullptr);
    const auto& values = std::get<trial::Measurements>(committed.outcome).values;
    EXPECT_THAT(values,
                Pointwise(NanSensitiveDoubleNear(0.0), expected.at(committed.trial.architecture().id)));
  }
  EXPECT_GE(compared, 2U);
}

TEST_F(ContinuedRun, GoesOnAfterAStopInTheMiddleOfAContinuedTrialWithoutRepeatingAStep) {
  RunSpec spec = rungs_spec({.budgets = {1, 4}});
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  const RigRun first = stopped_run("stopped", spec, all_ranks(),
                                   [](const trial::Trial& trial) { return trial.continues() != nullptr; });
  StepCounts steps = all_steps(first);
  if (rank() == 0) {
    EXPECT_TRUE(first.result.stopped);
    EXPECT_EQ(first.result.unsaved, 0U);
  }
  spec.options.slots = 2;
  const RigRun rest = run("stopped", spec, true);
  for (const auto& [name, count] : all_steps(rest)) steps[name] += count;
  if (rank() != 0) return;
  EXPECT_EQ(canonical("stopped"), expected);
  EXPECT_EQ(steps, needed_steps(rest, spec));
  EXPECT_THAT(checkpoints("stopped"), IsEmpty());
}

TEST_F(ContinuedRun, GoesOnAfterACutAtAnyLineAlthoughTheKeptStatesAreGone) {
  RunSpec spec = rungs_spec();
  run("whole", spec);
  const std::string whole = rank() == 0 ? store::read_file(journal("whole")) : "";
  const std::string expected = rank() == 0 ? canonical("whole") : "";
  for (std::size_t lines = 2; lines < 14; lines += 3) {
    const std::string name = "cut_" + std::to_string(lines);
    if (rank() == 0) {
      std::filesystem::create_directories(root() / name);
      std::size_t end = 0;
      for (std::size_t line = 0; line < lines; ++line) end = whole.find('\n', end) + 1;
      std::ofstream(journal(name), std::ios::binary) << whole.substr(0, end);
    }
    comm::wait(*world().barrier());
    run(name, spec, true);
    if (rank() != 0) continue;
    EXPECT_EQ(canonical(name), expected) << name;
    EXPECT_THAT(checkpoints(name), IsEmpty());
  }
}

}  // namespace
}  // namespace skyline::engine
