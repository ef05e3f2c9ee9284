#include "train/options/baselines.hpp"

#include "train/options/training_check.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// Samples of one feature with these targets, of which the first ones are held out.
class TargetsAlone final : public store::Dataset {
 public:
  template <typename Targets>
  TargetsAlone(Targets train, Targets test, std::vector<std::string> names) : names_(std::move(names)) {
    fill(train_, std::move(train));
    fill(test_, std::move(test));
    train_view_ = train_.view(names_.size());
    test_view_ = test_.view(names_.size());
  }
  const space::Shape& shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  const std::vector<double>& mean() const override { return one_; }
  const std::vector<double>& deviation() const override { return one_; }
  double value_scale() const override { return 1; }
  const store::SampleView& train() const override { return train_view_; }
  const store::SampleView& validation() const override { return none_; }
  const store::SampleView& test() const override { return test_view_; }
  const std::string& content_hash() const override { return names_.front(); }

 private:
  template <typename Targets>
  void fill(store::Samples& samples, Targets targets) {
    samples.values = std::vector<float>(targets.size());
    samples.targets = std::move(targets);
  }
  space::Shape shape_{1, 1, 1};
  std::vector<std::string> names_;
  std::vector<double> one_{1};
  store::Samples train_;
  store::Samples test_;
  store::SampleView train_view_;
  store::SampleView test_view_;
  store::SampleView none_;
};

using Classes = std::vector<std::int32_t>;

TrainingOptions with_metrics(std::vector<LossOrMetric> metrics) {
  TrainingOptions options;
  options.batch = 1;
  options.metrics = std::move(metrics);
  for (LossOrMetric& metric : options.metrics) {
    if (metric.section.is_null())
      metric.section = find_metric(metric.name)->keys->complete(ConfigNode::make_map({}, {}));
  }
  return options;
}

TEST(Baselines, HaveTheAccuracyOfTheCommonestClassAndTheSamplesThatDecideIt) {
  const TargetsAlone data(Classes{0, 1, 2, 2, 1, 2, 2}, Classes{2, 0, 2}, {"a", "b", "c"});
  const auto found = baselines_of(with_metrics({{"accuracy"}, {"macro_f1"}}), data,
                                  {.train = {4, 5, 6}, .validation = {0, 1, 2, 3}, .scored = {1, 2}});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].metric, "validation_accuracy");
  EXPECT_EQ(found[0].samples, 4U);
  EXPECT_EQ(found[0].scored, 2U);
  EXPECT_EQ(found[0].constant, 0.5);
  EXPECT_EQ(found[1].metric, "validation_macro_f1");
  EXPECT_FALSE(found[1].samples) << "it is no share of the samples";
  EXPECT_EQ(found[2].metric, "test_accuracy");
  EXPECT_EQ(found[2].samples, 3U);
  EXPECT_FALSE(found[2].scored);
  EXPECT_EQ(found[2].constant, 2 / 3.0);
}

TEST(Baselines, SayHowManySamplesDecideMetricsInInt8) {
  const TargetsAlone data(Classes{0, 1, 2, 2}, Classes{2, 0, 2}, {"a", "b", "c"});
  TrainingOptions options = with_metrics({{"accuracy"}});
  options.int8 = Int8Trials::kFinal;
  const auto found = baselines_of(options, data, {.train = {2, 3}, .validation = {0, 1}});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[2].metric, "int8_validation_accuracy");
  EXPECT_EQ(found[2].samples, 2U);
  EXPECT_EQ(found[3].metric, "int8_test_accuracy");
  EXPECT_EQ(found[3].samples, 3U);
  EXPECT_FALSE(found[3].constant) << "it is told once";
}

TEST(Baselines, OfNumbersHaveTheErrorOfTheirMean) {
  const TargetsAlone data(std::vector<float>{1, 3, 0, 4}, std::vector<float>{2, 4}, {"y"});
  const auto found =
      baselines_of(with_metrics({{"rmse"}, {"r2"}}), data, {.train = {2, 3}, .validation = {0, 1}});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_FALSE(found[0].samples);
  EXPECT_EQ(found[0].constant, 1);
  EXPECT_EQ(found[1].constant, 0);
  EXPECT_EQ(found[2].constant, std::sqrt(2));
}

TEST(Baselines, LeaveOutWhatAConstantAnswerDoesNotDefine) {
  const TargetsAlone data(Classes{0, 0, 1, 1}, Classes{}, {"a", "b"});
  const auto found = baselines_of(with_metrics({{"auc"}}), data, {.train = {2, 3}, .validation = {0, 1}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].constant);
}

TEST(Doubts, AdviseWhereClassesAreUneven) {
  Classes targets(30, 0);
  targets.insert(targets.end(), 10, 1);
  const TargetsAlone data(targets, Classes{0}, {"cats", "dogs"});
  store::SplitIndices split;
  for (std::int64_t i = 0; i < 40; ++i) split.train.push_back(i);
  const auto warnings = [&](const TrainingOptions& options) {
    return find_warnings(options, data, split, {.processors = 64});
  };
  const auto told = warnings(with_metrics({{"accuracy"}}));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told.front(), HasSubstr("the classes are uneven, from 10 samples (`dogs`) to 30 (`cats`)"));
  EXPECT_THAT(warnings(with_metrics({{"macro_f1"}, {"accuracy"}})), IsEmpty());
  split.train.erase(split.train.begin(), split.train.begin() + 11);
  EXPECT_THAT(warnings(with_metrics({{"accuracy"}})), IsEmpty());
}

TEST(Objections, NameImagesThatTrivialAugmentDoesNotChange) {
  const TargetsAlone data(Classes{0, 1}, Classes{0}, {"a", "b"});
  TrainingOptions options = with_metrics({{"accuracy"}});
  options.augment.trivial = 1;
  const auto objection = find_objection(options, data, {.train = {0}, .validation = {1}});
  ASSERT_TRUE(objection);
  EXPECT_EQ(objection->key, "augment.trivial");
  EXPECT_EQ(objection->reason, "needs images of pixels with 1 or 3 channels, and a sample is numbers, 1x1x1");
}

TEST(Doubts, SayThatFewSamplesTellLittleOfANetworksValues) {
  const TargetsAlone data(Classes{0, 1}, Classes{0}, {"a", "b"});
  TrainingOptions options = with_metrics({{"accuracy"}});
  for (const auto& [int8, key] : {std::pair(Int8Trials::kAll, "training"), {Int8Trials::kFinal, "final"}}) {
    options.int8 = int8;
    const auto told = find_warnings(options, data, {.train = {0, 1}, .validation = {}}, {});
    ASSERT_EQ(told.size(), 1U);
    EXPECT_THAT(told.front(), StartsWith(key + std::string(".int8: 2 samples to train on are few")));
  }
}

TEST(Doubts, SayThatBfloat16SavesNoTimeWithoutItsInstructions) {
  const TargetsAlone data(Classes{0, 1}, Classes{0}, {"a", "b"});
  TrainingOptions options = with_metrics({{"accuracy"}});
  options.batch = 2;
  options.precision = Precision::kBf16;
  const auto warnings = [&](const TrainingHost& host) {
    return find_warnings(options, data, {.train = {0, 1}, .validation = {}}, host);
  };
  ASSERT_EQ(warnings({}).size(), 1U);
  EXPECT_THAT(warnings({}).front(), HasSubstr("training.precision is bf16"));
  EXPECT_THAT(warnings({.multiplies_bfloat16 = true}), IsEmpty());
  EXPECT_THAT(warnings({.has_gpu = true}), IsEmpty());
  options.device = DeviceChoice::kCpu;
  EXPECT_EQ(warnings({.has_gpu = true}).size(), 1U);
  options.precision = Precision::kFp32;
  EXPECT_THAT(warnings({}), IsEmpty());
}

}  // namespace
}  // namespace skyline::train
