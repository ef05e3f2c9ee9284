// What a trial that continues another one promises beside the contract of every training.
#include "train/device/host_accelerator.hpp"
#include "train/fixtures/trainings.hpp"

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::Training;
using test::TrialEnd;
using trial::Trial;

/// @param horizon  in steps, as the budget
Trial trial_of(int steps, int horizon, Precision precision = Precision::kFp32) {
  Trial trial = test::make_trial(precision == Precision::kBf16 ? test::wide_network() : test::every_layer(),
                                 test::epochs_of(steps), 5);
  trial.proposal.horizon.epochs = test::epochs_of(horizon);
  return trial;
}

TEST(Continuation, TakesUpTheScheduleOfTheHorizonAndNotOfTheBudget) {
  const Training training({1}, test::whole_recipe(test::adam_options()));
  EXPECT_NE(training.run(trial_of(20, 20)).weights.front().values,
            training.run(trial_of(20, 60)).weights.front().values);
}

TEST(Continuation, DivergesInTheStepInWhichOneLongTrainingDoes) {
  constexpr int kHorizon = 30;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    TrainingOptions options = test::sgd_options();
    options.precision = precision;
    int continued = 0;
    for (const double rate : {3.0, 100.0, 1e9}) {
      options.optimizer.learning_rate = rate;
      test::Trainer trainer;
      if (precision == Precision::kBf16)
        trainer.accelerator = make_host_accelerator();  // where steps are queued
      const Training training(trainer, options);
      const std::string expected = training.run(trial_of(kHorizon, kHorizon)).reason;
      if (!expected.starts_with("loss became")) continue;
      const int step = std::stoi(expected.substr(expected.rfind(' ')));
      for (int steps = 1; steps < kHorizon; ++steps) {
        const TrialEnd part = training.run(trial_of(steps, kHorizon));
        EXPECT_TRUE(steps < step || part.reason == expected) << "the part fails alike";
        if (part.weights.empty()) continue;  // it failed, perhaps on held-out data
        ++continued;
        EXPECT_EQ(training.run(trial_of(kHorizon, kHorizon), {.start = part.left}).reason, expected)
            << "continued after step " << steps << ", rate " << rate;
      }
    }
    EXPECT_GT(continued, 0);
  }
}

TEST(Continuation, IsExpectedToCostWhatIsLeft) {
  const Training training({1}, test::whole_recipe(test::adam_options()));
  Trial trial = trial_of(52, 52);
  const double whole = training.evaluator().predicted_cost(trial);
  trial.proposal.start = trial::Continue{.from = 0, .epochs = 1};
  EXPECT_LT(training.evaluator().predicted_cost(trial), 0.6 * whole);
  EXPECT_GT(training.evaluator().predicted_cost(trial), 0.4 * whole);
}

}  // namespace
}  // namespace skyline::train
