#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"

#include "core/config/config_text.hpp"
#include "objective/objective_ends.hpp"
#include "support/cnn_space.hpp"
#include "support/sample_metrics.hpp"
#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::objective {
namespace {

using testing::config_from_yaml;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::user_error_of;

ObjectiveSet parsed(const std::string& objectives, const std::string& constraints = "[]",
                    const trial::Metric& own_metric = {.name = "own_metric"}) {
  const ConfigNode objective_list = config_from_yaml(objectives, "run.yaml", "objectives");
  const ConfigNode constraint_list = config_from_yaml(constraints, "run.yaml", "constraints");
  return ObjectiveSet::parse(
      objective_list, &constraint_list,
      {testing::validation_accuracy(), testing::validation_mse(), testing::latency_ms(), own_metric});
}

space::SearchSpace cnn_space() {
  return space::SearchSpace::parse(config_from_yaml(testing::kCnnSpace, "space.yaml", "space"),
                                   {{1, 8, 8}, 10});
}

/// The first objective, with its ends in the CNN space.
Objective completed(const std::string& objectives, const std::string& constraints = "[]") {
  ObjectiveSet set = parsed(objectives, constraints);
  set.complete_references(cnn_space());
  return set.objectives().front();
}

std::vector<double> costs(const std::string& metric) {
  const space::SearchSpace space = cnn_space();
  std::vector<double> values;
  for (std::int64_t i = 0; i < space.genotype_count(); ++i) {
    values.push_back(computed_metric(space.build(space.genotype_at(i)), metric));
  }
  return values;
}
double largest(const std::string& metric) {
  return std::ranges::max(costs(metric));
}
double smallest(const std::string& metric) {
  return std::ranges::min(costs(metric));
}

TEST(ReferencePoint, OfAnAccuracyIsZeroAndItsIdealOne) {
  const Objective accuracy = completed("[{maximize: validation_accuracy}]");
  EXPECT_EQ(accuracy.reference, 0);
  EXPECT_EQ(accuracy.ideal, 1);
}

TEST(ReferencePoint, OfACostIsTheLargestOneOfTheSpaceOrItsBoundIfThatIsSmaller) {
  EXPECT_EQ(completed("[{minimize: flops}]").reference, largest("flops"));
  EXPECT_EQ(completed("[{minimize: flops}]", "[{flops: [100, 200000]}]").reference, 200000);
  EXPECT_EQ(completed("[{minimize: flops}]", "[{flops: [100, 1.0e12]}]").reference, largest("flops"));
  EXPECT_EQ(completed("[{minimize: flops}]", "[{flops: [100, 1.0e12]}]").ideal, 100);
}

TEST(ReferencePoint, OfACostHasAnIdealOfATenthOfTheSmallestOneOnALogarithmicScale) {
  const Objective cost = completed("[{minimize: flops}]");
  EXPECT_EQ(cost.scale, Scale::kLog);
  EXPECT_EQ(cost.ideal, smallest("flops") / 10);
  EXPECT_EQ(completed("[{minimize: flops}]", "[{flops: [0, 200000]}]").ideal, smallest("flops") / 10);
  EXPECT_EQ(completed("[{minimize: flops}]", "[{flops: [0, 50]}]").ideal, 5)
      << "all costs are above the bound";
  EXPECT_EQ(completed("[{minimize: flops, ideal: 7}]").ideal, 7);
  EXPECT_EQ(completed("[{minimize: flops, scale: linear}]").ideal, 0);
  EXPECT_EQ(completed("[{minimize: flops, scale: linear}]").reference, largest("flops"));
  EXPECT_EQ(completed("[{maximize: flops}]").reference, smallest("flops") / 10);
  EXPECT_EQ(completed("[{maximize: flops}]").ideal, largest("flops"));
  EXPECT_EQ(completed("[{maximize: flops, reference: 0}]").scale, Scale::kLinear) << "0 has no logarithm";
  EXPECT_EQ(completed("[{maximize: validation_accuracy}]").scale, Scale::kLinear);
}

/// A space of a = 1, 2, 4 with a metric `size` that an expression gives.
space::SearchSpace space_with_size(const std::string& expression) {
  return space::SearchSpace::parse(
      config_from_yaml("parameters: {a: {choice: [1, 2, 4]}}", "run.yaml", "space"), {}, {},
      {{"size", config_from_yaml(expression, "run.yaml", "command.metrics.size.is")}});
}

/// The objective, whose metric an expression of a = 1, 2, 4 gives.
Objective given(const std::string& objective, const std::string& expression,
                const std::string& constraints = "[]") {
  const ConfigNode list = config_from_yaml("[{" + objective + "}]", "run.yaml", "objectives");
  const ConfigNode bounds = config_from_yaml(constraints, "run.yaml", "constraints");
  ObjectiveSet set = ObjectiveSet::parse(list, &bounds, {}, false, {{.name = "size", .computed = true}});
  set.complete_references(space_with_size(expression));
  return set.objectives().front();
}

TEST(ReferencePoint, OfAGivenMetricIsThatOfACost) {
  const Objective size = given("minimize: size", "$a * 10");
  EXPECT_EQ(size.scale, Scale::kLog);
  EXPECT_EQ(size.reference, 40);
  EXPECT_EQ(size.ideal, 1);
  EXPECT_EQ(given("minimize: size", "$a * 10", "[{size: [0, 20]}]").reference, 20);
  EXPECT_EQ(given("maximize: size", "$a * 10").ideal, 40);
  EXPECT_EQ(given("minimize: size, scale: linear", "$a * 10").ideal, 10) << "the smallest one";
}

TEST(ReferencePoint, OfAGivenMetricThatMayBeZeroIsOnALinearScale) {
  const Objective size = given("minimize: size", "$a - 2");
  EXPECT_EQ(size.scale, Scale::kLinear);
  EXPECT_EQ(size.reference, 2);
  EXPECT_EQ(size.ideal, -1);
  EXPECT_EQ(normalized(size, -1), 0);
  EXPECT_EQ(normalized(size, 0.5), 0.5);
  EXPECT_EQ(given("maximize: size", "-$a").ideal, -1);
  EXPECT_EQ(given("maximize: size", "-$a").reference, -4);
  EXPECT_EQ(given("minimize: size, scale: log", "$a - 2").ideal, 0.2) << "as it was asked for";
  EXPECT_EQ(given("minimize: size, scale: log", "-$a").reference, std::nullopt);
  EXPECT_EQ(given("minimize: size", "$a * 0").ideal, std::nullopt) << "a single value";
}

TEST(ReferencePoint, OfAMeasuredMetricOnALogarithmicScaleIsAboveZero) {
  const Objective bounded = completed("[{minimize: latency_ms, scale: log}]", "[{latency_ms: [0.5, 20]}]");
  EXPECT_EQ(bounded.scale, Scale::kLog);
  EXPECT_EQ(bounded.ideal, 0.5);
  EXPECT_EQ(completed("[{minimize: latency_ms, scale: log, ideal: 2, reference: 8}]").ideal, 2);
  EXPECT_EQ(
      user_error_of([] { parsed("[{minimize: latency_ms, scale: log, reference: 8}]"); }),
      "run.yaml:1:32: objectives[0].scale: a logarithmic scale needs an `ideal` above 0 in the objective, or "
      "a constraint with a lower bound above 0");
  EXPECT_THAT(user_error_of([] { parsed("[{maximize: validation_accuracy, scale: log}]"); }),
              HasSubstr("needs a `reference` above 0"));
  EXPECT_EQ(user_error_of([] { parsed("[{minimize: flops, scale: log, ideal: 0}]"); }),
            "run.yaml:1:39: objectives[0].ideal: expected a number above 0 beside `scale: log`, got 0");
}

TEST(ReferencePoint, OfACostIsTheLargestOfALargeSpaceWhereItIsRare) {
  for (const char* const blocks : {"3", "60"}) {  // 60 blocks have more layers than are looked at
    const auto space = space::SearchSpace::parse(
        config_from_yaml("parameters:\n"
                         "  kernel: {choice: [1, 3, 5, 7], each: true}\n"
                         "  width: {choice: [16, 12, 8, 4], each: true}\n"
                         "network:\n"
                         "  - repeat: " +
                             std::string(blocks) +
                             "\n"
                             "    body: [{conv2d: {channels: $width, kernel: $kernel}}, batch_norm, relu]\n"
                             "  - global_average_pool\n"
                             "  - linear: {features: $classes}\n",
                         "space.yaml", "space"),
        {{3, 8, 8}, 10});
    ObjectiveSet set = parsed("[{minimize: flops}, {minimize: parameters}]");
    set.complete_references(space);
    space::Genotype largest_one;
    for (const space::Parameter& parameter : space.parameters())
      largest_one.choices.push_back(parameter.name.starts_with("kernel") ? 3 : 0);
    const space::Cost most = space.build(largest_one).cost;
    if (space.parameters().size() < 10) {
      EXPECT_EQ(set.objectives()[0].reference, most.flops) << "one of 4,096 networks";
      EXPECT_EQ(set.objectives()[1].reference, most.parameters);
    } else {
      EXPECT_GT(set.objectives()[0].reference, 0.5 * static_cast<double>(most.flops));
    }
  }
}

TEST(ReferencePoint, OfALossOrALatencyIsItsBoundAndElseUnknown) {
  for (const std::string metric : {"validation_mse", "latency_ms"}) {
    EXPECT_FALSE(completed("[{minimize: " + metric + "}]").reference);
    EXPECT_EQ(completed("[{minimize: " + metric + "}]").ideal, 0);
    EXPECT_EQ(completed("[{minimize: " + metric + "}]", "[{" + metric + ": [0, 20]}]").reference, 20);
  }
  EXPECT_FALSE(parsed("[{maximize: own_metric}]").has_volume());
  EXPECT_TRUE(parsed("[{maximize: own_metric}]", "[{own_metric: [-1, 1]}]").has_volume());
}

TEST(ReferencePoint, IsWhatTheObjectiveStates) {
  EXPECT_EQ(completed("[{minimize: flops, reference: 5}]", "[{flops: [0, 9]}]").reference, 5);
  EXPECT_EQ(completed("[{reference: 0.5, maximize: validation_accuracy}]").reference, 0.5);
  ObjectiveSet set = parsed("[{minimize: flops}, {maximize: validation_accuracy}]");
  set.complete_references(cnn_space());
  const std::string stated = to_yaml(set.to_config());
  EXPECT_THAT(stated, HasSubstr("reference: " + number_text(largest("flops"))));
  const ObjectiveSet again = parsed(stated);
  ASSERT_EQ(again.objectives().size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again.objectives()[i].reference, set.objectives()[i].reference);
    EXPECT_EQ(again.objectives()[i].ideal, set.objectives()[i].ideal) << "without the space";
    EXPECT_EQ(again.objectives()[i].scale, set.objectives()[i].scale);
  }
}

TEST(ReferencePoint, IsThatOfTheRunWhereAResumeStatesNothingOfIt) {
  const auto resumed = [](const std::string& asked, const std::string& begun) {
    return parsed(to_yaml(with_ends_of(config_from_yaml(asked), config_from_yaml(begun)))).objectives();
  };
  const std::string begun =
      "[{minimize: flops, reference: 7, ideal: 2, scale: linear}, {maximize: own_metric, ideal: 1}]";
  const std::vector<Objective> same = resumed("[{minimize: flops}, {maximize: own_metric}]", begun);
  EXPECT_EQ(same[0].reference, 7);
  EXPECT_EQ(same[0].ideal, 2);
  EXPECT_EQ(same[0].scale, Scale::kLinear);
  EXPECT_EQ(same[1].reference, std::nullopt);
  EXPECT_EQ(same[1].ideal, 1);
  const std::vector<Objective> longer =
      resumed("[{minimize: flops}, {maximize: own_metric}, {minimize: macs}]", begun);
  ASSERT_EQ(longer.size(), 3U);
  EXPECT_EQ(longer[2].reference, std::nullopt);
  // What is asked for is not mixed with what the run has.
  for (const std::string asked : {"[{minimize: flops, reference: 1}]", "[{minimize: flops, scale: log}]",
                                  "[{minimize: flops, ideal: 9}]", "[{minimize: macs}]"}) {
    const Objective with = resumed(asked, begun).front();
    const Objective alone = parsed(asked).objectives().front();
    EXPECT_EQ(with.reference, alone.reference) << asked;
    EXPECT_EQ(with.ideal, alone.ideal) << asked;
    EXPECT_EQ(with.scale, alone.scale) << asked;
  }
  for (const std::string damaged : {"[{}]", "[null]", "[[1]]", "[{minimize: [flops], reference: 1}]", "[]"}) {
    EXPECT_EQ(resumed("[{minimize: flops}]", damaged)[0].reference, std::nullopt) << damaged;
  }
}

TEST(ReferencePoint, IsTheBoundWhereTheSampleMissesTheBandAndUnknownForASingleValue) {
  const std::string low = std::to_string(static_cast<std::int64_t>(largest("flops")));
  for (const std::string& high : {std::string("1.0e+15"), low}) {
    const std::string constraints = "[{flops: [" + low + ", " + high + "]}]";
    ObjectiveSet set = parsed("[{minimize: flops}]", constraints);
    set.complete_references(cnn_space());
    EXPECT_EQ(set.has_volume(), high != low);
    // What is written into the configuration of the run can be read.
    EXPECT_EQ(parsed(to_yaml(set.to_config()), constraints).objectives()[0].reference,
              set.objectives()[0].reference);
  }
  EXPECT_FALSE(parsed("[{minimize: validation_mse}]", "[{validation_mse: [2, 2]}]").has_volume());
  EXPECT_FALSE(completed("[{minimize: flops, ideal: 1.0e+15}]").reference) << "no cost is larger";
}

TEST(ReferencePoint, MustBeWorseThanTheBestValue) {
  EXPECT_EQ(user_error_of([] { parsed("[{minimize: flops, reference: 0}]"); }),
            "run.yaml:1:31: objectives[0].reference: expected a number above the best value, 0, got 0");
  EXPECT_EQ(user_error_of([] { parsed("[{maximize: validation_accuracy, reference: 90}]"); }),
            "run.yaml:1:45: objectives[0].reference: expected a number below the best value, 1, got 90");
  EXPECT_THAT(user_error_of([] { parsed("[{minimize: flops, reference: .inf}]"); }),
              HasSubstr("expected a number above"));
  EXPECT_THAT(user_error_of([] { parsed("[{reference: 3}]"); }), HasSubstr("expected {maximize: METRIC} or"));
  EXPECT_THAT(user_error_of([] { parsed("[{minimize: flops, refrence: 3}]"); }),
              HasSubstr("did you mean `reference`?"));
  EXPECT_EQ(user_error_of([] { parsed("[{minimize: flops, reference: 5, ideal: 5}]"); }),
            "run.yaml:1:31: objectives[0].reference: expected a number above the best value, 5, got 5");
  EXPECT_EQ(user_error_of([] { parsed("[{maximize: validation_accuracy, ideal: 95}]"); }),
            "run.yaml:1:41: objectives[0].ideal: expected a number from 0 to 1, got 95");
  EXPECT_EQ(user_error_of([] { parsed("[{minimize: flops, scale: logarithm}]"); }),
            "run.yaml:1:27: objectives[0].scale: expected `linear` or `log`, got logarithm");
}

TEST(ReferencePoint, MustBeAtADistanceFromTheIdealThatIsANumber) {
  EXPECT_EQ(user_error_of([] { parsed("[{maximize: own_metric, reference: -1e308, ideal: 1e308}]"); }),
            "run.yaml:1:2: objectives[0]: expected a reference and an ideal with a finite difference, got "
            "-1e+308 and 1e+308");
  EXPECT_THAT(
      user_error_of([] { parsed("[{maximize: own_metric, reference: 1e-300, ideal: 1e300, scale: log}]"); }),
      HasSubstr("with a finite quotient, got 1e-300 and 1e+300"));
  EXPECT_THAT(user_error_of([] { parsed("[{minimize: flops, reference: 1e300, ideal: 1e-300}]"); }),
              HasSubstr("with a finite quotient, got 1e+300 and 1e-300"));
  const ObjectiveSet wide = parsed("[{maximize: own_metric, reference: -1e300, ideal: 1e300}]");
  EXPECT_DOUBLE_EQ(normalized(wide.objectives().front(), 0), 0.5);
}

TEST(ReferencePoint, ThatTheSpaceGivesMustBeAtSuchADistanceToo) {
  const auto error = [](const std::string& expression, const std::string& stated = "") {
    const std::string text = "[{minimize: size" + stated + "}]";
    const ConfigNode list = config_from_yaml(text, "run.yaml", "objectives");
    ObjectiveSet set = ObjectiveSet::parse(list, nullptr, {}, false, {{.name = "size", .computed = true}});
    set.complete_references(space_with_size(expression));
    return user_error_of([&] { check_derived_ends(list, set); });
  };
  const std::string end = ", which the values of the space give: state `reference` and `ideal`";
  const std::string far = "10 ** (300 - 150 * $a)";
  EXPECT_THAT(error(far), StartsWith("run.yaml:1:2: objectives[0]: expected a reference and an ideal with a "
                                     "finite quotient, got 1e+150 and 1"));
  EXPECT_THAT(error(far), EndsWith(end));
  EXPECT_EQ(error("($a - 2) * 85 * 10 ** 306"),
            "run.yaml:1:2: objectives[0]: expected a reference and an ideal with a finite difference, got "
            "1.7e+308 and -8.5e+307" +
                end);
  EXPECT_EQ(error(far, ", reference: 1, ideal: 1e-9"), "(nothing was thrown)");
  EXPECT_EQ(error("$a"), "(nothing was thrown)");
}

TEST(ReferencePoint, OfAMetricOfOnesOwnComesFromItsDescription) {
  using trial::Better;
  const auto ends = [](const std::string& objective, const trial::Metric& metric) {
    const ObjectiveSet set = parsed("[" + objective + "]", "[]", metric);
    const Objective& found = set.objectives().front();
    return std::pair(found.reference, found.ideal);
  };
  const auto known = [](double reference, double ideal) {
    return std::pair(std::optional(reference), std::optional(ideal));
  };
  const trial::Metric ranged{.name = "own_metric", .better = Better::kLower, .range = {-2, 6}};
  EXPECT_EQ(ends("{minimize: own_metric}", ranged), known(6, -2));
  EXPECT_EQ(ends("{maximize: own_metric}", ranged), known(-2, 6));
  EXPECT_EQ(ends("{minimize: own_metric, reference: 5}", ranged), known(5, -2));
  EXPECT_TRUE(parsed("[{minimize: own_metric}]", "[]", ranged).has_volume());
  EXPECT_EQ(parsed("[{minimize: own_metric}]", "[{own_metric: [0, 1]}]", ranged).objectives()[0].ideal, 0);
  const trial::Metric ideal{.name = "own_metric", .better = Better::kLower, .range = {-2, 6}, .ideal = 1};
  EXPECT_EQ(ends("{minimize: own_metric}", ideal), known(6, 1));
  const trial::Metric open{.name = "own_metric", .range = {.low = 0}, .ideal = 50};
  EXPECT_EQ(ends("{maximize: own_metric}", open), known(0, 50));
}

TEST(Constraint, RefusesABoundThatNoValueOfTheMetricCanHave) {
  const auto error = [](const std::string& constraint) {
    return user_error_of([&] { parsed("[{minimize: flops}]", "[{" + constraint + "}]"); });
  };
  EXPECT_EQ(
      error("validation_accuracy: [90, 100]"),
      "run.yaml:1:25: constraints[0].validation_accuracy[0]: no `validation_accuracy` can be 90: expected a "
      "number from 0 to 1, a share and no percentage");
  EXPECT_THAT(error("validation_accuracy: [0.9, 100]"), HasSubstr("validation_accuracy[1]: no "));
  EXPECT_THAT(error("latency_ms: [-1, 100]"), HasSubstr("can be -1: expected a number of at least 0"));
  EXPECT_THAT(user_error_of([] {
                parsed("[{minimize: flops}]", "[{own_metric: [-3, 5]}]", {"own_metric", {}, {-2, 6}});
              }),
              HasSubstr("no `own_metric` can be -3: expected a number from -2 to 6"));
  EXPECT_NO_THROW(
      parsed("[{minimize: flops}]", "[{validation_accuracy: [0.9, .inf]}, {own_metric: [-5, 90]}]"));
}

}  // namespace
}  // namespace skyline::objective
