#include "engine/loop/trial_maker.hpp"

#include "skyline/core/error.hpp"

#include "engine/fixtures/simulated_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

TEST(TrialMaker, RefusesAProposalWithMoreParentsThanAMessageHolds) {
  SimulatedRun run(1, 1);
  trial::Proposal proposal;
  proposal.architecture =
      std::make_shared<space::Architecture>(test_space().build(test_space().genotype_at(0)));
  proposal.parents.resize(17);
  EXPECT_THAT([&] { run.maker.make(proposal); },
              ::testing::ThrowsMessage<InternalError>(::testing::HasSubstr(
                  "the searcher proposed a trial with 17 parents, expected at most 16")));
}

TEST(TrialMaker, LetsAProposalOfAnyOriginInheritFromItsParentsUnlessItsStartIsChosen) {
  SimulatedRun run(1, 1);
  run.options.inherit = true;
  run.options.keep_weights = KeepWeights::kAll;
  const auto architecture =
      std::make_shared<const space::Architecture>(test_space().build(test_space().genotype_at(0)));
  for (const trial::TrialNumber number : {0U, 1U}) {
    const trial::Trial parent = run.maker.make({architecture, trial::Origin::kInitial, {}});
    run.state.add({std::make_shared<const trial::CommittedTrial>(
        trial::CommittedTrial{parent, trial::Measurements{{0.5, 0, 0}}, {}, number})});
  }
  for (const trial::Origin origin : {trial::Origin::kMutation, trial::Origin::kRandom}) {
    trial::Proposal child{architecture, origin, {1, 0}};
    EXPECT_EQ(run.maker.make(child).inherits()->from, 1U);
    child.start = trial::Inherit{.from = 0, .architecture = architecture, .share = 1};
    EXPECT_EQ(run.maker.make(child).inherits()->from, 0U) << "the searcher chose its start";
    child.parents = {};
    child.start = {};
    EXPECT_EQ(run.maker.make(child).inherits(), nullptr);
  }
}

/// A proposal that continues trial 0 of the run, which had 1 of 4 epochs.
trial::Proposal continuation(SimulatedRun& run) {
  trial::Proposal proposal;
  proposal.architecture =
      std::make_shared<space::Architecture>(test_space().build(test_space().genotype_at(0)));
  proposal.budget = {1};
  proposal.horizon = {4};
  const trial::Trial earlier = run.maker.make(proposal);
  run.state.add({std::make_shared<const trial::CommittedTrial>(
      trial::CommittedTrial{earlier, trial::Measurements{{0.5, 0, 0}}, {.rank = 3}, 0})});
  proposal.budget = {2};
  proposal.horizon = {};
  proposal.start = trial::Continue{0};
  return proposal;
}

TEST(TrialMaker, FillsInWhatFollowsFromTheTrialThatIsContinued) {
  SimulatedRun run(1, 1);
  const trial::Trial made = run.maker.make(continuation(run));
  const run::SharedTrial continued = run.state.search_trial(0);
  const trial::Trial& earlier = continued->trial;
  EXPECT_EQ(made.seed, earlier.seed);
  EXPECT_EQ(made.horizon().epochs, 4);
  EXPECT_EQ(made.continues()->epochs, 1);
  EXPECT_EQ(made.continues()->holder, 3);
  EXPECT_EQ(made.inherits(), nullptr);
}

TEST(TrialMaker, RefusesAContinuationThatIsNone) {
  SimulatedRun run(1, 1);
  const trial::Proposal good = continuation(run);
  const auto expect_error = [&](const char* text, const std::function<void(trial::Proposal&)>& change) {
    trial::Proposal bad = good;
    change(bad);
    EXPECT_THAT([&] { run.maker.make(bad); },
                ::testing::ThrowsMessage<InternalError>(::testing::HasSubstr(text)));
  };
  expect_error("continues trial 0 with another architecture", [](trial::Proposal& proposal) {
    proposal.architecture =
        std::make_shared<space::Architecture>(test_space().build(test_space().genotype_at(9)));
  });
  expect_error("continues trial 0 with a budget that is not larger",
               [](trial::Proposal& proposal) { proposal.budget = {1}; });
  expect_error("continues trial 0 with a budget beyond its horizon",
               [](trial::Proposal& proposal) { proposal.budget = {5}; });
  expect_error("continues trial 0 in a full training",
               [](trial::Proposal& proposal) { proposal.trains = 0; });
  expect_error("a trial is not committed yet",
               [](trial::Proposal& proposal) { proposal.start = trial::Continue{1}; });
}

}  // namespace
}  // namespace skyline::engine
