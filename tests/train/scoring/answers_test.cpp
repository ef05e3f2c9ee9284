#include "train/scoring/answers.hpp"

#include "skyline/core/config_node.hpp"

#include "core/config/config_text.hpp"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A data set of which only the test set is asked for.
class TestSet final : public store::Dataset {
 public:
  TestSet(space::Shape shape, std::vector<std::string> names, store::Samples samples)
      : shape_(shape), names_(std::move(names)), samples_(std::move(samples)) {}
  const space::Shape& shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  const std::vector<double>& mean() const override { return none_; }
  const std::vector<double>& deviation() const override { return none_; }
  double value_scale() const override { return 16; }
  const store::SampleView& train() const override { return view_; }
  const store::SampleView& validation() const override { return view_; }
  const store::SampleView& test() const override { return view_; }
  const std::string& content_hash() const override { return names_.front(); }
  std::string preparation() const override { return prepared; }

  std::string prepared;

 private:
  space::Shape shape_;
  std::vector<std::string> names_;
  std::vector<double> none_;
  store::Samples samples_;
  store::SampleView view_ = samples_.view(names_.size());
};

/// Answers to all samples, in batches of two.
ConfigNode answers_to(const TestSet& data, const std::vector<float>& outputs) {
  Answers answers(data, data.test());
  std::vector<std::int64_t> indices(data.test().count);
  std::iota(indices.begin(), indices.end(), 0);
  const std::size_t width = data.class_names().size();
  for (std::size_t first = 0; first < indices.size(); first += 2) {
    const std::size_t count = std::min<std::size_t>(2, indices.size() - first);
    answers.add(std::span(indices).subspan(first, count),
                std::span(outputs).subspan(first * width, count * width));
  }
  return load_yaml_text(answers.json(), "answers.json");
}

std::vector<double> numbers(const ConfigNode& list) {
  std::vector<double> values;
  for (const ConfigNode& item : list.items()) values.push_back(item.as_number());
  return values;
}

TestSet shapes(std::vector<std::int32_t> classes, space::Shape shape) {
  store::Samples samples;
  const std::size_t each = static_cast<std::size_t>(shape.channels * shape.height * shape.width);
  samples.values = std::vector<std::uint8_t>(classes.size() * each, 16);
  samples.pixels()[1] = 8;
  samples.targets = std::move(classes);
  return {shape, {"disc", "ring"}, std::move(samples)};
}

TEST(Answers, CountWhichClassesAreTakenForWhich) {
  const TestSet data = shapes({0, 0, 0, 1, 1}, {1, 1, 2});
  const ConfigNode found = answers_to(data, {2, 1, 1, 2, 0, 3, 1, 2, 3, 0});
  EXPECT_EQ(found.at("targets").as_text(), "classes");
  EXPECT_EQ(found.at("samples").as_integer(), 5);
  EXPECT_THAT(numbers(found.at("all")), ElementsAre(3, 2));
  EXPECT_THAT(numbers(found.at("right")), ElementsAre(1, 1));
  EXPECT_THAT(numbers(found.at("taken").items().at(0)), ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers(found.at("taken").items().at(1)), ElementsAre(1, 0, 1));
}

TEST(Answers, NameTheSamplesWhoseClassIsLeastProbable) {
  const TestSet data = shapes({0, 0, 0, 1, 1, 1, 1, 1}, {1, 1, 2});
  const ConfigNode found = answers_to(data, {2, 1, 1, 2, 0, 3, 1, 2, 3, 0, 0, 1, 0, 1, 0, 9});
  std::vector<std::int64_t> samples;
  for (const ConfigNode& each : found.at("worst").items()) samples.push_back(each.at("sample").as_integer());
  EXPECT_THAT(samples, ElementsAre(2, 4, 1, 0, 3, 5)) << "equal ones in their order";
  const ConfigNode& first = found.at("worst").items().front();
  EXPECT_EQ(first.at("answer").as_integer(), 1);
  EXPECT_NEAR(first.at("probability").as_number(), 1 / (1 + std::exp(3.0)), 1e-12);
  EXPECT_EQ(first.find("pixels"), nullptr) << "a row of values is no picture";
}

TEST(Answers, HaveSmallPicturesOfThoseSamples) {
  const ConfigNode small = answers_to(shapes({0}, {1, 2, 2}), {0, 1}).at("worst").items().front();
  EXPECT_EQ(small.at("pixels").as_text(), "ff80ffff") << "a pixel of 16 is white here";
  const TestSet large = shapes({1}, {3, 200, 100});
  const ConfigNode picture = answers_to(large, {0, 1}).at("worst").items().front();
  EXPECT_EQ(picture.at("height").as_integer(), 40);
  EXPECT_EQ(picture.at("width").as_integer(), 20);
  EXPECT_EQ(picture.at("pixels").as_text().size(), 2U * 3 * 40 * 20);
  EXPECT_EQ(answers_to(shapes({1}, {2, 8, 8}), {0, 1}).at("worst").items().front().find("pixels"), nullptr)
      << "two channels are no colours";
}

TEST(Answers, CountHowOftenEachLabelIsSaidAndApplies) {
  store::Samples samples;
  samples.values = std::vector<float>{0, 0, 0};
  samples.targets = std::vector<std::uint8_t>{1, 0, 1, 1, 0, 0};
  const TestSet data({1, 1, 1}, {"red", "round"}, std::move(samples));
  const ConfigNode found = answers_to(data, {1, 1, -1, 1, 1, 0});
  EXPECT_THAT(numbers(found.at("labels").items().at(0)), ElementsAre(2, 2, 1));
  EXPECT_THAT(numbers(found.at("labels").items().at(1)), ElementsAre(2, 1, 1));
}

TEST(Answers, HaveNumbersBesideTheTrueOnesInTheUnitsOfTheTable) {
  store::Samples samples;
  samples.values = std::vector<float>{0, 0};
  samples.targets = std::vector<float>{1, 2, -1, 4};
  TestSet data({1, 1, 1}, {"price", "age"}, std::move(samples));
  data.prepared = R"({"has_names":true,"features":[{"column":"rooms"}],)"
                  R"("targets":[{"column":"price","mean":100,"deviation":10},{"column":"age"}]})";
  const ConfigNode found = answers_to(data, {0, 2, 1, 5});
  std::vector<std::vector<double>> points;
  for (const ConfigNode& point : found.at("points").items()) points.push_back(numbers(point));
  EXPECT_THAT(points, ElementsAre(ElementsAre(0, 110, 100), ElementsAre(1, 2, 2), ElementsAre(0, 90, 110),
                                  ElementsAre(1, 4, 5)));
}

TEST(Answers, HaveTheErrorsOnResamplesThatAreTheSameForEveryNetwork) {
  store::Samples samples;
  samples.values = std::vector<float>(50);
  std::vector<float> targets(50);
  std::iota(targets.begin(), targets.end(), 0.0F);
  samples.targets = targets;
  const TestSet data({1, 1, 1}, {"price"}, std::move(samples));
  const LossOrMetric mse{"mse", find_metric("mse")->keys->complete(ConfigNode())};
  const auto replicates = [&](const std::vector<float>& outputs) {
    Answers answers(data, data.test(), std::span(&mse, 1));
    for (std::int64_t i = 0; i < 50; ++i)
      answers.add(std::span(&i, 1), std::span(outputs).subspan(static_cast<std::size_t>(i), 1));
    const ConfigNode found = load_yaml_text(answers.json(), "answers.json");
    return numbers(found.at("replicates").at("test_mse"));
  };
  const std::vector<double> constant = replicates(std::vector<float>(50, 24.5F));
  ASSERT_EQ(constant.size(), 1000U);
  const double mean = std::accumulate(constant.begin(), constant.end(), 0.0) / 1000;
  EXPECT_NEAR(mean, (50 * 50 - 1) / 12.0, 3) << "the variance of 0 to 49";
  for (float& target : targets) target += 2;
  std::vector<float> nearly = targets;
  EXPECT_THAT(replicates(nearly), ::testing::Each(4)) << "every sample has this error";
  EXPECT_EQ(replicates(std::vector<float>(50, 24.5F)), constant) << "the same samples again";
}

TEST(Answers, AreFewForManySamples) {
  store::Samples samples;
  samples.values = std::vector<float>(40'000);
  samples.targets = std::vector<float>(40'000);
  const TestSet data({1, 1, 1}, {"price"}, std::move(samples));
  const std::size_t points = answers_to(data, std::vector<float>(40'000)).at("points").items().size();
  EXPECT_LE(points, 1500U);
  EXPECT_GT(points, 1400U);
}

TEST(Answers, AreNotKeptWithoutSamplesOrForMoreClassesThanAnybodyReads) {
  store::Samples none;
  none.targets = std::vector<std::int32_t>();
  const TestSet empty({1, 1, 1}, {"disc", "ring"}, none);
  EXPECT_THAT(Answers(empty, empty.test()).json(), IsEmpty());
  none.values = std::vector<float>{0};
  none.targets = std::vector<std::int32_t>{5};
  const TestSet words({1, 1, 1}, std::vector<std::string>(1001, "word"), none);
  EXPECT_THAT(Answers(words, words.test()).json(), IsEmpty());
}

}  // namespace
}  // namespace skyline::train
