#include "engine/fixtures/shared_run_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::IsEmpty;
using trial::Phase;
using trial::Trial;

using StopTest = BothWaysTest;

TEST_P(StopTest, EndsInTheMiddleWhicheverRanksAskForItAndGoesOnWithoutRepeatingAStep) {
  RunSpec spec = evolution_spec();
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  const std::vector<std::vector<int>> askers = {{0}, {size() - 1}, all_ranks()};
  for (std::size_t i = 0; i < askers.size(); ++i) {
    const std::string name = "asked_" + std::to_string(i);
    spec.options.slots = 2;
    const RigRun first = stopped_run(name, spec, askers[i], [](const Trial& t) { return t.number == 8; });
    EXPECT_TRUE(rank() != 0 || first.result.stopped);
    if (rank() == 0) {
      EXPECT_EQ(first.result.finish_reason, "stopped on request");
      EXPECT_LE(first.result.committed.size(), 8U);
      EXPECT_EQ(first.observer.stops, 1);
      EXPECT_EQ(first.result.unsaved, 0U);
      EXPECT_TRUE(first.result.progress);
      EXPECT_EQ(canonical(name), expected.substr(0, canonical(name).size()));
    }
    spec.options.slots = 1;
    const RigRun rest = run(name, spec, true);
    expect_no_step_twice(first, rest, spec);
    if (rank() != 0) continue;
    EXPECT_FALSE(rest.result.stopped);
    EXPECT_EQ(rest.observer.stops, 0);
    EXPECT_EQ(canonical(name), expected);
    EXPECT_THAT(checkpoints(name), IsEmpty());
  }
}

TEST_P(StopTest, CountsTheTrialsWhoseLastStateCannotBeSaved) {
  RunSpec spec = evolution_spec();
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  const auto held = [this](const Trial& t) {
    if (t.number != 4) return false;
    const std::filesystem::path checkpoints = root() / "unsaved" / "checkpoints";
    std::error_code refused;  // other trials may write there
    while (std::filesystem::exists(checkpoints)) std::filesystem::remove_all(checkpoints, refused);
    return true;
  };
  const RigRun first = stopped_run("unsaved", spec, {0}, held);
  std::size_t lost = 0;  // trials that this rank lost
  for (const auto& [name, steps] : first.steps) {
    if (!std::ranges::binary_search(first.completed, name)) ++lost;
  }
  std::size_t all_lost = 0;
  for (const std::string& text : comm::gather(world(), std::to_string(lost))) {
    all_lost += std::stoul(text);
  }
  if (rank() == 0) {
    EXPECT_GE(all_lost, 1U);
    EXPECT_EQ(first.result.unsaved, all_lost);
  }
  const RigRun rest = run("unsaved", spec, true);
  if (rank() != 0) return;
  EXPECT_EQ(rest.result.unsaved, 0U);
  EXPECT_EQ(canonical("unsaved"), expected);
}

TEST_P(StopTest, GoesOnInAWindow) {
  for (const std::string name : {"window", "virtual_time"}) {
    RunSpec spec = evolution_spec();
    spec.options.window = 5;
    if (name == "virtual_time") {
      spec.options.virtual_slots = 2;
      spec.options.commit = CommitBy::kVirtualTime;
      spec.search.set("breed", ConfigNode::make_scalar("commit", {}));
    }
    spec.options.slots = 2;
    const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
    const RigRun first = stopped_run(name, spec, {0}, [](const Trial& t) { return t.number == 3; });
    if (rank() == 0 && name == "window") {
      EXPECT_LE(first.result.committed.size(), 3U);
    }
    const RigRun rest = run(name, spec, true);
    expect_no_step_twice(first, rest, spec);
    if (rank() != 0) continue;
    EXPECT_EQ(canonical(name), expected);
  }
}

TEST_P(StopTest, EndsTheFullTrainingToo) {
  RunSpec spec = evolution_spec();
  spec.options.keep_weights = KeepWeights::kFront;
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  const RigRun first = stopped_run("final", spec, {size() - 1}, [](const Trial& t) { return t.is_final(); });
  if (rank() == 0) {
    EXPECT_TRUE(first.result.stopped);
    EXPECT_EQ(first.result.committed.back().trial.phase(), Phase::kSearch);
  }
  const RigRun rest = run("final", spec, true);
  expect_no_step_twice(first, rest, spec);
  if (rank() != 0) return;
  EXPECT_EQ(canonical("final"), expected);
}

TEST_P(StopTest, DoesNothingWhenItComesBeforeTheFirstTrial) {
  RunSpec spec = evolution_spec();
  spec.stop_requested = [] { return true; };
  const RigRun first = run("at_once", spec);
  EXPECT_TRUE(first.completed.empty());
  if (rank() == 0) {
    EXPECT_TRUE(first.result.stopped);
    EXPECT_FALSE(first.result.progress);
  }
}

TEST_P(StopTest, KnowsWhetherAnythingWasSavedWhereNothingIsCommitted) {
  for (const bool saves : {true, false}) {
    RunSpec spec = evolution_spec();
    if (!saves) spec.options.checkpoints.reset();
    const RigRun first =
        stopped_run(saves ? "something" : "nothing", spec, {0}, [](const Trial& t) { return t.number == 0; });
    if (rank() != 0) continue;
    EXPECT_THAT(first.result.committed, IsEmpty());
    EXPECT_EQ(first.result.progress, saves);
  }
}

TEST_P(StopTest, LeavesNoCheckpointsWhereNoneAreWanted) {
  RunSpec spec = evolution_spec();
  spec.options.checkpoints.reset();
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  stopped_run("none", spec, {0}, [](const Trial& t) { return t.number == 4; });
  if (rank() == 0) {
    EXPECT_THAT(checkpoints("none"), IsEmpty());
  }
  run("none", spec, true);
  if (rank() == 0) {
    EXPECT_EQ(canonical("none"), expected);
  }
}

TEST_P(StopTest, RepeatsNoMoreThanAnIntervalOfATrialThatWasKilled) {
  RunSpec spec = evolution_spec();
  spec.steps = 10;
  spec.saves_at_stop = false;
  spec.options.checkpoints =
      CheckpointOptions{.interval_s = {}, .interval_epochs = 0.25 * 2 / 10, .most_overhead = 1e9};
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  const auto held = [](const Trial& t) { return t.number == 0; };
  const StepCounts done = all_steps(stopped_run("killed", spec, {0}, held));
  const StepCounts done_later = all_steps(run("killed", spec, true));
  if (rank() != 0) return;
  EXPECT_EQ(done.at("0"), 5);
  EXPECT_EQ(done_later.at("0"), 6) << "from step 4, the last that was due";
  EXPECT_EQ(canonical("killed"), expected);
  EXPECT_THAT(checkpoints("killed"), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Ways, StopTest, both_ways(), name_of_way);

}  // namespace
}  // namespace skyline::engine
