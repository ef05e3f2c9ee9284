#include "trial/commit_log.hpp"

#include "skyline/core/error.hpp"

#include "store/fixtures/sample_run.hpp"
#include "support/commit_log_of.hpp"
#include "trial/refit.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace skyline::store {
namespace {

using skyline::testing::commit_log_of;
using skyline::testing::same_trial;

constexpr std::size_t kTrials = 1000;  // trials of several chunks

class CommitLogTest : public ::testing::Test {
 protected:
  space::SearchSpace space = skyline::testing::sample_space();
  std::vector<trial::CommittedTrial> trials = skyline::testing::sample_trials(space, kTrials);
  trial::CommitLog log = commit_log_of(trials);
};

TEST_F(CommitLogTest, GivesEveryTrialBackBitByBit) {
  ASSERT_EQ(log.size(), kTrials);
  std::size_t position = 0;
  for (const trial::SharedTrial& committed : log) {
    EXPECT_EQ(committed->position, position);
    EXPECT_TRUE(same_trial(*committed, trials[position])) << position;
    const space::Architecture& expected = trials[position].trial.architecture();
    EXPECT_EQ(committed->trial.architecture().used, expected.used);
    EXPECT_EQ(committed->trial.architecture().cost.training_activation_bytes,
              expected.cost.training_activation_bytes);
    ++position;
  }
  EXPECT_EQ(position, kTrials);
}

TEST_F(CommitLogTest, GivesParentsAndNetworksBack) {
  const trial::SharedTrial heir = log[2];
  ASSERT_NE(heir->trial.inherits(), nullptr);
  EXPECT_EQ(heir->trial.inherits()->architecture->network().canonical_text(),
            trials[2].trial.inherits()->architecture->network().canonical_text());
  EXPECT_EQ(heir->trial.architecture().network().canonical_text(),
            trials[2].trial.architecture().network().canonical_text());
}

TEST_F(CommitLogTest, FindsSearchTrialsByNumberAndFullTrainingsByTheirBudget) {
  EXPECT_EQ(log.position_of(4), 5U) << "behind the full training of trial 3";
  EXPECT_FALSE(log.position_of(kTrials));
  EXPECT_EQ(log.position_of({3, true}, trials[4].trial.budget()), 4U);
  EXPECT_FALSE(log.contains({3, true}, {0.5}));
  EXPECT_TRUE(log.contains({3}, {0.5}));
  EXPECT_EQ(log.architecture_of(4)->id, trials[5].trial.architecture().id);
  EXPECT_EQ(log.architecture_of(kTrials), nullptr);
}

TEST_F(CommitLogTest, FindsARefitByTheBudgetOfTheTrainingsToWhichItBelongs) {
  trial::CommittedTrial refit = trials[4];
  refit.trial.proposal.final_repeat = trial::kRefit;
  refit.trial.proposal.budget = {27};
  refit.trial.proposal.horizon = {40};
  log.add(refit);
  EXPECT_EQ(log.position_of({3, true, trial::kRefit}, {40}), kTrials);
  EXPECT_FALSE(log.contains({3, true, trial::kRefit}, {27}));
  refit.trial.proposal.horizon = {80};
  log.add(refit);
  EXPECT_EQ(log.position_of({3, true, trial::kRefit}, {80}), kTrials + 1);
}

TEST_F(CommitLogTest, RefusesATrialThatItHasAndANumberThatIsFarAhead) {
  EXPECT_THROW(log.add(trials[7]), InternalError);
  trial::CommittedTrial other = trials[7];
  other.trial.number = kTrials + trial::CommitLog::kFarthestAhead + 1;
  EXPECT_THROW(log.add(other), InternalError);
}

TEST_F(CommitLogTest, ACopyKeepsWhatItHadWhenTheOtherOneGrows) {
  trial::CommitLog longer = log;
  trial::CommittedTrial other = trials[7];
  other.trial.number = kTrials;
  longer.add(other);
  EXPECT_EQ(log.size(), kTrials);
  EXPECT_FALSE(log.position_of(kTrials));
  EXPECT_TRUE(same_trial(*log.back(), trials.back()));
  EXPECT_EQ(longer.back()->trial.number, kTrials);
}

TEST_F(CommitLogTest, ForgetsEarlierTrialsAndKnowsTheOthers) {
  log.forget_before(700);
  EXPECT_THROW(log[0], InternalError);
  EXPECT_EQ(log.architecture_of(0), nullptr);
  for (std::size_t position = 700; position < kTrials; ++position) {
    EXPECT_EQ(log[position]->trial.number, trials[position].trial.number);
  }
  EXPECT_EQ(log.size(), kTrials);
}

}  // namespace
}  // namespace skyline::store
