// How a training is compared with others after declared steps, and ends.
#include "train/fixtures/trainings.hpp"

#include <cmath>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using test::adam_options;
using test::every_layer_trial;
using test::kEpochSteps;
using test::RecordingContext;
using test::Training;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using trial::CurvePoint;
using trial::Trial;

/// Ends the trial at a step, and keeps what it is asked about.
class EndsAt final : public trial::TrialPruning {
 public:
  explicit EndsAt(std::int64_t step) : step_(step) {}
  std::span<const Decision> decisions() const override { return decisions_; }
  std::vector<std::string> compared() const override { return {"validation_accuracy"}; }
  bool decide(const CurvePoint& point) override {
    points.push_back(point);
    decisions_.push_back({point.step, point.step == step_});
    return decisions_.back().stop;
  }
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> steps;
    for (const CurvePoint& point : points) steps.push_back(point.step);
    return steps;
  }
  std::vector<double> accuracies() const {
    std::vector<double> values;
    for (const CurvePoint& point : points) values.push_back(test::value_of(point, "validation_accuracy"));
    return values;
  }

  std::vector<CurvePoint> points;

 private:
  std::int64_t step_;
  std::vector<Decision> decisions_;
};

constexpr std::int64_t kNever = 0;

Trial compared_trial(int epochs) {
  Trial trial = every_layer_trial(epochs * kEpochSteps);
  for (const std::int64_t step : {1, 2}) trial.bars.push_back({step, {}});
  return trial;
}

bool is_pruned(const trial::Outcome& outcome) {
  return trial::has_extent(outcome, trial::Extent::kPruned);
}

TEST(PrunedTraining, EndsAfterTheDeclaredEpochAndKeepsNoWeights) {
  const Training training({1}, adam_options(), true);
  EndsAt ends(2);
  RecordingContext context;
  context.wants = true;
  context.compares = &ends;
  EXPECT_TRUE(is_pruned(training.evaluator().evaluate(compared_trial(4), context)));
  EXPECT_THAT(ends.steps(), ElementsAre(1, 2));
  EXPECT_EQ(context.course.back().step, 2 * kEpochSteps);
  EXPECT_EQ(test::value_of(context.course.back(), "validation_accuracy"), ends.accuracies().back());
  EXPECT_THAT(context.kept, IsEmpty());
  EXPECT_EQ(context.times.latency_s, 0) << "nothing is measured of it";
}

TEST(PrunedTraining, HasTheResultOfOneThatIsNotComparedIfItGoesOn) {
  const Training training({1}, adam_options());
  const test::TrialEnd whole = training.run(every_layer_trial(3 * kEpochSteps));
  EndsAt never(kNever);
  RecordingContext context;
  context.compares = &never;
  const trial::Outcome outcome = training.evaluator().evaluate(compared_trial(3), context);
  ASSERT_TRUE(trial::is_whole(outcome));
  EXPECT_EQ(std::get<trial::Measurements>(outcome).values[test::kAccuracy], whole.values[test::kAccuracy]);
  EXPECT_EQ(std::get<trial::Measurements>(outcome).values[test::kTrainLoss], whole.values[test::kTrainLoss]);
  EXPECT_THAT(never.steps(), ElementsAre(1, 2));
}

TEST(PrunedTraining, DecidesAlikeWhereverItIsStoppedAndResumed) {
  const Training training({1}, adam_options());
  EndsAt whole(2);
  RecordingContext undisturbed;
  undisturbed.compares = &whole;
  ASSERT_TRUE(is_pruned(training.evaluator().evaluate(compared_trial(4), undisturbed)));
  for (const int polls :
       {5, kEpochSteps, kEpochSteps + 1, kEpochSteps + 2, kEpochSteps + 9, undisturbed.polls() - 1}) {
    SCOPED_TRACE("stopped after " + std::to_string(polls));
    EndsAt ends(2);
    RecordingContext stopped;
    stopped.compares = &ends;
    stopped.stop_after_polls = polls;
    ASSERT_FALSE(is_pruned(training.evaluator().evaluate(compared_trial(4), stopped)));
    RecordingContext resumed;
    resumed.compares = &ends;
    resumed.start_from = stopped.last_saved;
    ASSERT_TRUE(is_pruned(training.evaluator().evaluate(compared_trial(4), resumed)));
    EXPECT_THAT(ends.steps(), ElementsAre(1, 2)) << "each step is compared once";
    EXPECT_EQ(ends.accuracies(), whole.accuracies());
  }
}

TEST(PrunedTraining, EndsForAllMembersOfItsGroupAsTheFirstOneDecides) {
  const auto evaluator = make_training_evaluator(adam_options(), Normalization::kStandard, test::bars(),
                                                 test::split_in_two(202, 90), false);
  for (const std::int64_t step : {std::int64_t{1}, kNever}) {
    EndsAt ends(step);
    test::GroupRun run(3);
    run.leader().compares = &ends;
    run.evaluate(*evaluator, compared_trial(3));
    for (const trial::Outcome& outcome : run.outcomes) EXPECT_EQ(is_pruned(outcome), step != kNever);
  }
}

TEST(PrunedTraining, IsNeverAFullOne) {
  const Training training({1}, adam_options());
  Trial full = every_layer_trial(2 * kEpochSteps);
  full.proposal.trains = 0;
  EndsAt ends(1);
  RecordingContext context;
  context.compares = &ends;
  EXPECT_TRUE(trial::is_whole(training.evaluator().evaluate(full, context)));
  EXPECT_THAT(ends.steps(), IsEmpty()) << "it has no bars";
}

}  // namespace
}  // namespace skyline::train
