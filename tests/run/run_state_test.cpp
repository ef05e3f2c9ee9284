#include "run/run_state.hpp"

#include "skyline/core/error.hpp"

#include "support/sample_metrics.hpp"
#include "support/yaml_config.hpp"
#include "trial/refit.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::run {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Maximizes accuracy, minimizes flops.
objective::ObjectiveSet objectives() {
  return objective::ObjectiveSet::parse(
      testing::config_from_yaml(
          "[{maximize: validation_accuracy}, {minimize: flops, reference: 2000, ideal: 125}]"),
      nullptr, {testing::validation_accuracy()});
}

class RunStateTest : public ::testing::Test {
 protected:
  /// @param trains  of a full training: the trial that it trains
  void commit(trial::Outcome outcome, std::int64_t flops, std::optional<trial::TrialNumber> trains = {},
              bool replayed = false, double epochs = 1, std::uint32_t final_repeat = 0) {
    trial::CommittedTrial committed;
    auto architecture = std::make_shared<space::Architecture>();
    architecture->cost.flops = flops;
    committed.trial.proposal.architecture = architecture;
    committed.trial.proposal.trains = trains;
    committed.trial.proposal.final_repeat = final_repeat;
    committed.trial.number = trains ? *trains : next_++;
    committed.trial.proposal.budget = {trains ? 10 * epochs : epochs};
    committed.outcome = std::move(outcome);
    committed.position = state_.trials().size();
    state_.add({std::make_shared<const trial::CommittedTrial>(std::move(committed)), replayed});
  }
  void repeat(trial::Outcome outcome, std::int64_t flops, trial::TrialNumber trains, std::uint32_t repeat) {
    commit(std::move(outcome), flops, trains, false, 1, repeat);
  }
  /// A repeat in the search of the architecture with these flops (`search.repeats`).
  void search_repeat(double accuracy, std::int64_t flops, std::uint32_t repeat) {
    trial::CommittedTrial committed;
    auto architecture = std::make_shared<space::Architecture>();
    architecture->cost.flops = flops;
    architecture->id = static_cast<space::ArchId>(flops);
    committed.trial.proposal.architecture = architecture;
    committed.trial.proposal.repeat = repeat;
    committed.trial.number = next_++;
    committed.outcome = trial::Measurements{{accuracy}};
    committed.position = state_.trials().size();
    state_.add({std::make_shared<const trial::CommittedTrial>(std::move(committed)), false});
  }
  static trial::Measurements accuracy(double value) { return {{value}}; }
  double mean(trial::TrialNumber number) const {
    return std::get<trial::Measurements>(state_.final_mean(number)->outcome).values.at(0);
  }

  RunState state_{objectives()};
  trial::TrialNumber next_ = 0;
};

TEST_F(RunStateTest, KeepsTheFrontAndSaysWhoLeftIt) {
  commit(accuracy(0.5), 100);
  EXPECT_THAT(state_.left_behind(), IsEmpty());
  commit(accuracy(0.9), 1000);
  commit(accuracy(0.4), 200);
  EXPECT_THAT(state_.left_behind(), ElementsAre(2)) << "it never was on the front";
  commit(accuracy(0.95), 90);
  EXPECT_THAT(state_.left_behind(), ElementsAre(0, 1));
  EXPECT_THAT(state_.front().keys(), ElementsAre(3));
  EXPECT_TRUE(state_.on_front(3));
  EXPECT_FALSE(state_.on_front(0));
}

TEST_F(RunStateTest, KeepsTheBestValuesInTheSensesOfTheUser) {
  EXPECT_THAT(state_.best(), IsEmpty());
  commit(accuracy(0.5), 100);
  commit(accuracy(0.9), 1000);
  commit(trial::Failure{trial::FailureKind::kDiverged, "NaN"}, 1);
  EXPECT_THAT(state_.best(), ElementsAre(0.9, 100));
}

TEST_F(RunStateTest, ComparesMeansOfRepeatsAndKeepsWhatALuckyValueBeat) {
  state_ = RunState(objectives(), 2);
  search_repeat(0.9, 100, 0);
  search_repeat(0.8, 200, 0);
  EXPECT_THAT(state_.front().keys(), ElementsAre(0));
  EXPECT_THAT(state_.left_behind(), IsEmpty()) << "its weights may be needed yet";
  search_repeat(0.5, 100, 1);
  EXPECT_THAT(state_.front().keys(), ElementsAre(0, 1));
  EXPECT_THAT(state_.left_behind(), ElementsAre(2)) << "the first trial stands for the model";
  EXPECT_THAT(state_.best(), ElementsAre(0.8, 100)) << "never the best of several";
  EXPECT_EQ(state_.search_repeats(0).size(), 2U);
  EXPECT_DOUBLE_EQ(std::get<trial::Measurements>(state_.search_mean(0)->outcome).values.at(0), 0.7);
  EXPECT_EQ(state_.search_mean(0)->trial.number, 0U);
}

TEST_F(RunStateTest, CountsTrialsByPhaseAndFailures) {
  state_.begin_phase(trial::Phase::kSearch, 10);
  commit(accuracy(0.5), 100, {}, true);
  commit(trial::Failure{trial::FailureKind::kDiverged, "NaN"}, 1);
  commit(trial::Failure{trial::FailureKind::kOutOfMemory, "full"}, 1);
  EXPECT_EQ(state_.done_in_phase(), 3U);
  state_.begin_phase(trial::Phase::kFinal, 1);
  EXPECT_EQ(state_.done_in_phase(), 0U);
  commit(trial::Failure{trial::FailureKind::kDiverged, "NaN"}, 100, 0);
  EXPECT_EQ(state_.done_in_phase(), 1U);
  EXPECT_EQ(state_.expected(trial::Phase::kSearch), 10U);
  EXPECT_EQ(state_.committed(trial::Phase::kSearch), 3U);
  EXPECT_EQ(state_.failed(), 3U);
  EXPECT_EQ(state_.replayed(), 1U);
}

TEST_F(RunStateTest, CountsTrialsOutsideOfConstraintsApartFromFailures) {
  state_.begin_phase(trial::Phase::kSearch, 2);
  commit(
      trial::Measurements{.values = {std::nan("")}, .extent = trial::Extent::kOutside, .reason = "too slow"},
      1);
  state_.set_expected(3);
  commit(trial::Failure{trial::FailureKind::kDiverged, "NaN"}, 1);
  EXPECT_EQ(state_.outside(), 1U);
  EXPECT_EQ(state_.failed(), 1U);
  EXPECT_EQ(state_.done_in_phase(), 2U);
  EXPECT_EQ(state_.expected(trial::Phase::kSearch), 3U);
  EXPECT_EQ(state_.expected(trial::Phase::kFinal), 0U);
}

TEST_F(RunStateTest, FindsFullTrainingsByTheTrialThatTheyTrain) {
  commit(accuracy(0.5), 100);
  commit(accuracy(0.9), 1000);
  commit(accuracy(0.99), 1000, 1);
  EXPECT_THAT(state_.full_trainings(0), IsEmpty());
  ASSERT_EQ(state_.full_trainings(1).size(), 1U);
  EXPECT_EQ(state_.full_trainings(1)[0]->position, 2U);
  EXPECT_EQ(state_.search_trial(1)->position, 1U);
  EXPECT_THAT(state_.left_behind(), IsEmpty()) << "a full training changes no front";
}

TEST_F(RunStateTest, MeasuresAVolumeThatNeverFallsHoweverBadATrialIs) {
  double before = 0;
  for (const std::int64_t flops : {100, 1000, 5000, 50, 1500}) {
    commit(accuracy(0.1 + static_cast<double>(flops) / 10000), flops);
    EXPECT_GE(state_.volume().value(), before);
    before = state_.volume().value();
  }
  EXPECT_GT(before, 0);
  commit(trial::Failure{trial::FailureKind::kDiverged, "NaN"}, 5000);
  EXPECT_EQ(state_.volume(), before);
}

TEST_F(RunStateTest, GivesThePointsAnewOnlyWhenTheyHaveChanged) {
  commit(accuracy(0.5), 100);
  const auto before = state_.points();
  commit(accuracy(0.4), 100);
  EXPECT_EQ(state_.points(), before);
  commit(accuracy(0.6), 100);
  EXPECT_NE(state_.points(), before);
}

TEST_F(RunStateTest, ComparesFullTrainingsWithOneAnotherAlone) {
  commit(accuracy(0.5), 100);
  commit(accuracy(0.9), 1000);
  commit(accuracy(0.8), 500);
  EXPECT_THAT(state_.final_front().keys(), IsEmpty());
  EXPECT_FALSE(state_.final_budget());
  commit(accuracy(0.7), 1000, 1);
  EXPECT_THAT(state_.final_front().keys(), ElementsAre(1)) << "though trial 2 had more at fewer FLOPs";
  commit(accuracy(0.95), 500, 2);
  commit(trial::Failure{trial::FailureKind::kDiverged, "NaN"}, 100, 0);
  EXPECT_THAT(state_.final_front().keys(), ElementsAre(2));
  EXPECT_THAT(state_.front().keys(), ElementsAre(0, 1, 2)) << "full trainings change no front of the search";
  EXPECT_TRUE(state_.on_its_front(state_.final_training(2)->trial));
  EXPECT_FALSE(state_.on_its_front(state_.final_training(1)->trial));
  EXPECT_TRUE(state_.on_its_front(state_.search_trial(1)->trial));
  EXPECT_DOUBLE_EQ(state_.final_volume().value(), 0.95 * 0.5);
}

TEST_F(RunStateTest, ComparesFullTrainingsByMetricsThatTheseAloneHave) {
  trial::Metric phone{.name = "phone_ms", .better = trial::Better::kLower};
  phone.when = trial::Metric::When::kFullTraining;
  state_ = RunState(objective::ObjectiveSet::parse(
      testing::config_from_yaml("[{maximize: validation_accuracy}, {minimize: phone_ms}]"), nullptr,
      {testing::validation_accuracy(), phone}));
  const double none = std::nan("");
  commit(trial::Measurements{{0.9, none}}, 1);
  commit(trial::Measurements{{0.9, none}}, 1);
  EXPECT_THAT(state_.front().keys(), ElementsAre(0, 1));
  commit(trial::Measurements{{0.95, 7}}, 1, 0);
  commit(trial::Measurements{{0.95, 5}}, 1, 1);
  EXPECT_THAT(state_.final_front().keys(), ElementsAre(1));
  EXPECT_EQ(state_.final_volume(), std::nullopt) << "nothing says how long a time may be";
}

TEST_F(RunStateTest, ComparesFullTrainingsOfTheLatestBudgetAlone) {
  commit(accuracy(0.5), 100);
  commit(accuracy(0.9), 1000);
  commit(accuracy(0.99), 100, 0);
  commit(accuracy(0.97), 1000, 1);
  EXPECT_THAT(state_.final_front().keys(), ElementsAre(0));
  commit(accuracy(0.95), 1000, 1, false, 2);
  EXPECT_THAT(state_.final_front().keys(), ElementsAre(1));
  EXPECT_EQ(state_.final_budget()->epochs, 20);
  EXPECT_EQ(state_.final_training(0), nullptr);
  EXPECT_FALSE(state_.on_its_front(state_.full_trainings(0)[0]->trial));
  commit(accuracy(0.9), 100, 0, false, 2);
  EXPECT_THAT(state_.final_front().keys(), ElementsAre(1, 0));
}

TEST_F(RunStateTest, ComparesTheMeansOfRepeatedFullTrainings) {
  commit(accuracy(0.5), 100);
  commit(accuracy(0.9), 1000);
  repeat(accuracy(0.98), 100, 0, 0);
  repeat(accuracy(0.97), 1000, 1, 0);
  EXPECT_THAT(state_.final_front().keys(), ElementsAre(0));
  repeat(accuracy(0.9), 100, 0, 1);
  EXPECT_THAT(state_.final_front().keys(), ElementsAre(0, 1)) << "trial 0 was lucky";
  repeat(accuracy(0.99), 1000, 1, 1);
  EXPECT_DOUBLE_EQ(mean(0), 0.94);
  EXPECT_DOUBLE_EQ(mean(1), 0.98);
  EXPECT_EQ(state_.final_repeats(1).size(), 2U);
  EXPECT_EQ(state_.final_training(1)->position, 3U) << "the first stands for the model";
  EXPECT_TRUE(state_.on_its_front(state_.final_repeats(1)[1]->trial));
}

TEST_F(RunStateTest, CountsARepeatThatFailedInNoMeanAndAMemberWhoseRepeatsAllFailedAsFailed) {
  const trial::Failure failure{trial::FailureKind::kDiverged, "NaN"};
  commit(accuracy(0.5), 100);
  commit(accuracy(0.9), 1000);
  repeat(failure, 100, 0, 0);
  repeat(accuracy(0.97), 1000, 1, 0);
  repeat(failure, 100, 0, 1);
  repeat(failure, 1000, 1, 1);
  EXPECT_THAT(state_.final_front().keys(), ElementsAre(1));
  EXPECT_EQ(mean(1), 0.97);
  EXPECT_TRUE(std::holds_alternative<trial::Failure>(state_.final_mean(0)->outcome));
  repeat(accuracy(0.6), 100, 0, 2);
  EXPECT_THAT(state_.final_front().keys(), ElementsAre(0, 1));
  EXPECT_EQ(mean(0), 0.6);
}

TEST_F(RunStateTest, HasOneFullTrainingAndTheMeanOfEqualValuesBitByBit) {
  commit(accuracy(0.5), 100);
  repeat(accuracy(0.1), 100, 0, 0);
  EXPECT_EQ(state_.final_mean(0), state_.final_training(0));
  for (std::uint32_t i = 1; i < 50; ++i) repeat(accuracy(0.1), 100, 0, i);
  EXPECT_EQ(mean(0), 0.1);
}

TEST_F(RunStateTest, DropsNoWeightsBecauseOfARepeatThatALaterOneMayOutweigh) {
  commit(accuracy(0.5), 100);
  commit(accuracy(0.6), 90);
  repeat(accuracy(0.9), 100, 0, 0);
  repeat(accuracy(0.79), 90, 1, 0);
  repeat(accuracy(0.5), 100, 0, 1);
  EXPECT_FALSE(state_.on_front(0) || state_.on_final_front(0));
  EXPECT_THAT(state_.left_final_front(), IsEmpty());
  repeat(accuracy(1), 100, 0, 2);
  EXPECT_TRUE(state_.on_final_front(0));
}

TEST_F(RunStateTest, SaysWhoseFullTrainingNoFrontWantsAnyMore) {
  commit(accuracy(0.5), 100);
  commit(accuracy(0.9), 1000);
  commit(accuracy(0.6), 100, 0);
  commit(accuracy(0.95), 1000, 1);
  commit(accuracy(0.95), 90);
  EXPECT_THAT(state_.left_behind(), ElementsAre(0, 1));
  EXPECT_THAT(state_.left_final_front(), IsEmpty()) << "the final front still has them";
  commit(accuracy(0.99), 90, 2);
  EXPECT_THAT(state_.left_final_front(), ElementsAre(0, 1));
}

TEST_F(RunStateTest, TakesNoCommitOutOfItsPlace) {
  commit(accuracy(0.5), 100);
  EXPECT_THROW(state_.add({state_.trials()[0]}), InternalError);
  EXPECT_THROW(state_.search_trial(7), InternalError);
}

TEST_F(RunStateTest, ComparesNothingWithARefit) {
  commit(accuracy(0.5), 100);
  commit(accuracy(0.7), 100, 0);
  EXPECT_EQ(state_.refit_of(0), nullptr);
  trial::CommittedTrial refit = *state_.final_training(0);
  refit.trial.proposal.final_repeat = trial::kRefit;
  refit.trial.proposal.budget = {4};
  refit.trial.proposal.horizon = {10};
  refit.outcome = accuracy(NAN);
  refit.position = 2;
  state_.add({std::make_shared<const trial::CommittedTrial>(refit), false});
  EXPECT_EQ(state_.final_budget(), trial::Budget{10});
  EXPECT_EQ(state_.final_repeats(0).size(), 1U);
  EXPECT_EQ(mean(0), 0.7);
  EXPECT_TRUE(state_.on_its_front(refit.trial));
  ASSERT_NE(state_.refit_of(0), nullptr);
  EXPECT_EQ(state_.refit_of(0)->trial.budget(), trial::Budget{4});
  commit(accuracy(0.6), 100, 0, false, 2);
  EXPECT_EQ(state_.refit_of(0), nullptr) << "it belongs to trainings of another length";
}

}  // namespace
}  // namespace skyline::run
