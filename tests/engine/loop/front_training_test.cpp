#include "engine/loop/front_training.hpp"

#include "support/sample_metrics.hpp"
#include "support/yaml_config.hpp"
#include "trial/refit.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using ::testing::ElementsAre;

class FrontTrainingTest : public ::testing::Test {
 protected:
  void commit(trial::TrialNumber number, double accuracy, std::optional<std::uint32_t> final_repeat = {},
              double epochs = 10) {
    trial::CommittedTrial committed;
    committed.trial.number = number;
    committed.trial.proposal.architecture = std::make_shared<const space::Architecture>();
    committed.trial.proposal.budget = {1};
    if (final_repeat) {
      committed.trial.proposal.trains = number;
      committed.trial.proposal.final_repeat = *final_repeat;
      committed.trial.proposal.budget = {epochs};
    }
    committed.outcome = trial::Measurements{{accuracy}};
    committed.position = state_.trials().size();
    state_.add({std::make_shared<const trial::CommittedTrial>(std::move(committed)), false});
  }
  /// Returns the names of the trainings that are asked for.
  std::vector<std::string> asked(std::uint32_t repeats) const {
    const auto searcher = front_training(state_, state_.front().keys(), {10}, repeats);
    std::vector<std::string> names;
    for (const trial::Proposal& proposal : searcher->ask(100).proposals) {
      names.push_back(to_text(trial::TrialName{*proposal.trains, true, proposal.final_repeat}));
    }
    EXPECT_TRUE(searcher->finished());
    return names;
  }

  run::RunState state_{
      objective::ObjectiveSet::parse(testing::config_from_yaml("[{maximize: validation_accuracy}]"), nullptr,
                                     {testing::validation_accuracy()})};
};

TEST_F(FrontTrainingTest, AsksForEachRepeatThatIsMissing) {
  commit(0, 0.9);
  commit(1, 0.9);
  EXPECT_THAT(asked(1), ElementsAre("0.final", "1.final"));
  EXPECT_THAT(asked(2), ElementsAre("0.final", "1.final", "0.final.1", "1.final.1"));
  commit(0, 0.9, 0);
  commit(1, 0.9, 1);
  EXPECT_THAT(asked(2), ElementsAre("1.final", "0.final.1"));
}

TEST_F(FrontTrainingTest, RepeatsTheMembersOfTheFinalFrontThatALongerSearchTookFromItsFront) {
  commit(0, 0.8);
  commit(0, 0.95, 0);
  commit(1, 0.9);
  EXPECT_THAT(asked(1), ElementsAre("1.final"));
  EXPECT_THAT(asked(2), ElementsAre("1.final", "1.final.1", "0.final.1"));
  commit(1, 0.97, 0, 20);
  EXPECT_THAT(asked(2), ElementsAre("1.final", "1.final.1")) << "the final front has another budget";
}

TEST_F(FrontTrainingTest, TakesTheNearestRivalsOfASmallFront) {
  for (const double accuracy : {0.7, 0.9, 0.6, 0.8, 0.8}) commit(state_.trials().size(), accuracy);
  EXPECT_THAT(with_rivals(state_, state_.front().keys(), 0), ElementsAre(1));
  EXPECT_THAT(with_rivals(state_, state_.front().keys(), 3), ElementsAre(1, 3, 4));
  EXPECT_THAT(with_rivals(state_, state_.front().keys(), 9), ElementsAre(1, 3, 4, 0, 2));
  commit(3, 0.95, 0);
  EXPECT_THAT(with_rivals(state_, state_.front().keys(), 2), ElementsAre(1, 3)) << "full trainings are none";
}

TEST_F(FrontTrainingTest, RefitsTheFinalFrontForTheEpochsThatWereKept) {
  commit(0, 0.9);
  commit(1, 0.9);
  commit(0, 0.95, 0);
  commit(1, 0.9, 0);
  const auto asked_refits = [&](const std::optional<std::size_t>& kept) {
    return front_refit(state_, kept)->ask(100).proposals;
  };
  const auto all = asked_refits({});
  ASSERT_EQ(all.size(), 1U) << "the other one is not on the final front";
  EXPECT_EQ((trial::TrialName{*all[0].trains, true, all[0].final_repeat}),
            (trial::TrialName{0, true, trial::kRefit}));
  EXPECT_EQ(all[0].budget, trial::Budget{10});
  const auto kept = asked_refits(0);
  EXPECT_EQ(kept.at(0).budget, trial::Budget{0.95}) << "as the metric of that place says";
  EXPECT_EQ(kept.at(0).horizon, trial::Budget{10});
  commit(0, 0, trial::kRefit);
  EXPECT_TRUE(asked_refits({}).empty());
}

}  // namespace
}  // namespace skyline::engine
