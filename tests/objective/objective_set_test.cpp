#include "skyline/objective/objective_set.hpp"

#include "skyline/core/error.hpp"
#include "skyline/space/search_space.hpp"

#include "support/sample_metrics.hpp"
#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::objective {
namespace {

using testing::config_from_yaml;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using testing::user_error_of;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ObjectiveSet parse(const std::string& objectives, const std::string& constraints = {}) {
  const ConfigNode objective_list = config_from_yaml(objectives, "run.yaml", "objectives");
  const ConfigNode constraint_list = config_from_yaml(constraints, "run.yaml", "constraints");
  return ObjectiveSet::parse(
      objective_list, &constraint_list,
      {testing::validation_accuracy(), testing::latency_ms(), testing::test_accuracy()});
}

std::string objectives_error(const std::string& objectives) {
  return user_error_of([&] { parse(objectives); });
}

std::string constraints_error(const std::string& constraints) {
  return user_error_of([&] { parse("[{minimize: flops}]", constraints); });
}

space::Architecture architecture_of(std::int64_t parameters, std::int64_t flops) {
  space::Architecture architecture;
  architecture.cost = {parameters, flops, flops / 2, 64, 640, 400};
  return architecture;
}

/// A trial of a network of 100 parameters and 2000 FLOPs.
trial::CommittedTrial trial_with(trial::Outcome outcome) {
  trial::CommittedTrial committed;
  committed.trial.proposal.architecture =
      std::make_shared<const space::Architecture>(architecture_of(100, 2000));
  committed.outcome = std::move(outcome);
  return committed;
}

TEST(ObjectiveSet, KeepsMetricsOfFullTrainingsOutOfTheSearch) {
  trial::Metric phone{.name = "phone_ms", .better = trial::Better::kLower};
  phone.when = trial::Metric::When::kFullTraining;
  trial::Metric size = phone;
  size.name = "size";
  const ConfigNode list =
      config_from_yaml("[{minimize: phone_ms}, {maximize: validation_accuracy}]", "run.yaml", "objectives");
  const ConfigNode bounds = config_from_yaml("[{size: [0, 5]}]", "run.yaml", "constraints");
  ObjectiveSet set = ObjectiveSet::parse(list, &bounds, {testing::validation_accuracy(), phone, size});
  ASSERT_TRUE(set.has_more_for_full_trainings());
  EXPECT_THAT(set.values(trial_with(trial::Measurements{{0.9, kNan, kNan}})), Optional(ElementsAre(0.9)));
  EXPECT_THAT(set.measured_needed(), ElementsAre("validation_accuracy"));
  const ObjectiveSet& full = set.of_full_trainings();
  EXPECT_THAT(full.values(trial_with(trial::Measurements{{0.9, 3, 5}})), Optional(ElementsAre(3, 0.9)));
  EXPECT_EQ(full.values(trial_with(trial::Measurements{{0.9, 3, 6}})), std::nullopt);
  EXPECT_EQ(full.values(trial_with(trial::Measurements{{0.9, kNan, 5}})), std::nullopt);
  EXPECT_EQ(set.to_config().items().size(), 2U);
  EXPECT_EQ(&full.of_full_trainings(), &full);
  const ConfigNode alone = config_from_yaml("[{minimize: phone_ms}]", "run.yaml", "objectives");
  EXPECT_THAT(user_error_of([&] { ObjectiveSet::parse(alone, nullptr, {phone}); }),
              HasSubstr("objectives: expected an objective that the trials of the search have"));
}

TEST(ComputedMetrics, LendTheirNamesToNoMetricOfAnEvaluator) {
  const ConfigNode objectives = config_from_yaml("[{minimize: flops}]", "run.yaml", "objectives");
  EXPECT_EQ(user_error_of([&] { ObjectiveSet::parse(objectives, nullptr, {{.name = "flops"}}); }),
            "run.yaml:1:1: objectives: the evaluator's metric `flops` is computed from the network: give it "
            "another name there");
}

TEST(ComputedMetrics, AreNotComputedWithoutANetwork) {
  const ConfigNode objectives = config_from_yaml("[{minimize: flops}]", "run.yaml", "objectives");
  const ConfigNode constraints = config_from_yaml("[{flops: [0, 10]}]", "run.yaml", "constraints");
  const std::string refusal =
      "`flops` is computed from a network, and this space has none; to have it reported, "
      "list it under the evaluator's `metrics`";
  EXPECT_EQ(user_error_of([&] { ObjectiveSet::parse(objectives, nullptr, {}, false); }),
            "run.yaml:1:13: objectives[0].minimize: " + refusal);
  const ConfigNode score = config_from_yaml("[{maximize: score}]", "run.yaml", "objectives");
  EXPECT_EQ(user_error_of([&] { ObjectiveSet::parse(score, &constraints, {{.name = "score"}}, false); }),
            "run.yaml:1:3: constraints[0]: " + refusal);

  const ObjectiveSet set = ObjectiveSet::parse(objectives, &constraints, {{.name = "flops"}}, false);
  EXPECT_FALSE(set.objectives().front().computed);
  EXPECT_FALSE(set.constraints().front().computed);
  EXPECT_EQ(set.values(trial_with(trial::Measurements{{7}})), std::vector<double>{7}) << "as it was measured";
  EXPECT_EQ(set.values(trial_with(trial::Measurements{{11}})), std::nullopt);
}

TEST(ComputedMetrics, AreTheCostsOfTheNetwork) {
  EXPECT_THAT(cost_metric_names(),
              ElementsAre("parameters", "flops", "macs", "peak_activation_bytes", "training_activation_bytes",
                          "weight_bytes", "int8_peak_activation_bytes", "int8_weight_bytes"));
  const space::Architecture network = architecture_of(100, 2000);
  EXPECT_EQ(computed_metric(network, "parameters"), 100);
  EXPECT_EQ(computed_metric(network, "flops"), 2000);
  EXPECT_EQ(computed_metric(network, "macs"), 1000);
  EXPECT_EQ(computed_metric(network, "peak_activation_bytes"), 64);
  EXPECT_EQ(computed_metric(network, "training_activation_bytes"), 640);
  EXPECT_EQ(computed_metric(network, "weight_bytes"), 400);
  EXPECT_THROW(computed_metric(network, "latency_ms"), InternalError);
}

TEST(ComputedMetrics, InInt8AreThereIfAnObjectiveOrAConstraintNamesOne) {
  const auto parse = [](const std::string& text, bool has_network) {
    const ConfigNode root = config_from_yaml(text, "run.yaml");
    return ObjectiveSet::parse(root.at("objectives"), root.find("constraints"), {}, has_network);
  };
  const std::string plain = "objectives: [{minimize: flops}]";
  const std::string score = "objectives: [{minimize: int8_weight_bytes}]";
  const std::string asks = plain + "\nconstraints: [{int8_weight_bytes: [0, 64Ki]}]";
  EXPECT_EQ(parse(plain, true).computed().size(), 6U);
  EXPECT_EQ(parse(asks, true).computed().size(), 8U);
  EXPECT_EQ(parse(asks, true).constraints()[0].high, 65536);
  EXPECT_FALSE(first_aim(config_from_yaml(plain), is_int8_cost));
  EXPECT_FALSE(
      first_aim(config_from_yaml("objectives: int8_weight_bytes\nconstraints: [[1], 2]"), is_int8_cost));
  ASSERT_TRUE(first_aim(config_from_yaml(asks), is_int8_cost));
  EXPECT_EQ(first_aim(config_from_yaml(score), is_int8_cost)->as_text(), "int8_weight_bytes");
  EXPECT_THAT(user_error_of([&] { parse(score, false); }),
              HasSubstr("`int8_weight_bytes` is computed from a network, and this space has none"));
  EXPECT_THAT(user_error_of([&] { parse("objectives: [{minimize: int8_weight_byte}]", true); }),
              HasSubstr("did you mean `int8_weight_bytes`?"));
}

TEST(ComputedMetrics, InInt8HaveNoValueIfNothingAskedForThem) {
  EXPECT_EQ(find_computed(architecture_of(100, 2000), "int8_weight_bytes"), std::nullopt);
}

TEST(GivenMetrics, AreComputedObjectivesAndConstraints) {
  const ConfigNode objectives =
      config_from_yaml("[{maximize: score}, {maximize: size}]", "run.yaml", "objectives");
  const ConfigNode constraints = config_from_yaml("[{depth: [-1, 0.5]}]", "run.yaml", "constraints");
  const ConfigNode size = config_from_yaml("$a / 4", "run.yaml", "command.metrics.size.is");
  const ConfigNode depth = config_from_yaml("$a - 2", "run.yaml", "command.metrics.depth.is");
  const auto space =
      space::SearchSpace::parse(config_from_yaml("parameters: {a: {choice: [1, 2, 3]}}", "run.yaml", "space"),
                                {}, {}, {{"size", size}, {"depth", depth}});
  ObjectiveSet set = ObjectiveSet::parse(objectives, &constraints, {{.name = "score"}}, false,
                                         {{.name = "size", .better = trial::Better::kLower, .computed = true},
                                          {.name = "depth", .computed = true}});
  EXPECT_TRUE(set.objectives()[1].computed);
  EXPECT_TRUE(set.constraints()[0].computed);
  EXPECT_THAT(set.measured_needed(), ElementsAre("score"));
  EXPECT_EQ(set.computed()[0].better, trial::Better::kHigher) << "as the objective says";
  EXPECT_TRUE(set.feasible(space.build(space::Genotype{{1}})));
  EXPECT_FALSE(set.feasible(space.build(space::Genotype{{2}})));
  trial::CommittedTrial committed;
  committed.trial.proposal.architecture =
      std::make_shared<const space::Architecture>(space.build(space::Genotype{{0}}).unbuilt());
  committed.outcome = trial::Measurements{{7}};
  EXPECT_THAT(set.values(committed), Optional(ElementsAre(7, 0.25)));
}

TEST(GivenMetrics, HaveNamesOfTheirOwn) {
  const ConfigNode objectives = config_from_yaml("[{minimize: size}]", "run.yaml", "objectives");
  const std::vector<trial::Metric> size{{.name = "size", .computed = true}};
  EXPECT_EQ(
      user_error_of([&] { ObjectiveSet::parse(objectives, nullptr, size, true, size); }),
      "run.yaml:1:1: objectives: the evaluator measures `size`, which an expression gives, too: give one "
      "of them another name");
  EXPECT_THAT(user_error_of([&] { ObjectiveSet::parse(objectives, nullptr, {}, true, {{.name = "macs"}}); }),
              HasSubstr("metric `macs` is computed from the network"));
  const std::vector<trial::Metric> macs{{.name = "macs", .computed = true}};
  const ConfigNode of_macs = config_from_yaml("[{minimize: macs}]", "run.yaml", "objectives");
  EXPECT_TRUE(ObjectiveSet::parse(of_macs, nullptr, {}, false, macs).objectives()[0].computed)
      << "there is no network";
}

TEST(ObjectiveSet, RefusesMetricsThatFullTrainingsAloneHave) {
  const std::string expected =
      "expected one of parameters, flops, macs, peak_activation_bytes, training_activation_bytes, "
      "weight_bytes, int8_peak_activation_bytes, int8_weight_bytes, validation_accuracy, latency_ms, got test_accuracy, which only full trainings after the "
      "search measure";
  EXPECT_THAT(objectives_error("[{maximize: test_accuracy}]"), ::testing::EndsWith(expected));
  EXPECT_THAT(constraints_error("[{test_accuracy: [0.9, 1]}]"), ::testing::EndsWith(expected));
  EXPECT_THAT(objectives_error("[{maximize: test_acuracy}]"),
              ::testing::Not(::testing::HasSubstr("`test_accuracy`")));
}

TEST(ObjectiveSet, ReadsObjectivesAndConstraintsInOrder) {
  const ObjectiveSet set =
      parse("[{maximize: validation_accuracy}, {minimize: flops}, {minimize: latency_ms}]",
            "[{parameters: [0, 1.0e6]}, {latency_ms: [0.5, 2]}]");
  ASSERT_EQ(set.objectives().size(), 3U);
  EXPECT_EQ(set.objectives()[0].sense, Sense::kMaximize);
  EXPECT_FALSE(set.objectives()[0].computed);
  EXPECT_TRUE(set.objectives()[1].computed);
  EXPECT_EQ(set.objectives()[2].metric, "latency_ms");
  EXPECT_EQ(set.objectives()[2].measured_index, 1U);
  ASSERT_EQ(set.constraints().size(), 2U);
  EXPECT_TRUE(set.constraints()[0].computed);
  EXPECT_EQ(set.constraints()[0].high, 1e6);
  EXPECT_FALSE(set.constraints()[1].computed);
  EXPECT_EQ(set.constraints()[1].low, 0.5);
}

TEST(ObjectiveSet, ReadsAmountsWithPrefixesAndBytesWithUnits) {
  const ObjectiveSet set = parse("[{minimize: flops, reference: 20M}, {minimize: weight_bytes, ideal: 1 kB}]",
                                 "[{weight_bytes: [0, 64k]}, {peak_activation_bytes: [0, 1.5 KiB]}]");
  EXPECT_EQ(set.objectives()[0].reference, 20e6);
  EXPECT_EQ(set.objectives()[1].ideal, 1000);
  EXPECT_EQ(set.constraints()[0].high, 64'000);
  EXPECT_EQ(set.constraints()[1].high, 1536);
  EXPECT_EQ(constraints_error("- {flops: [0, 64 KiB]}"),
            "run.yaml:1:15: constraints[0].flops[1]: expected a number, got 64 KiB");
  EXPECT_EQ(constraints_error("- {weight_bytes: [0, 64m]}"),
            "run.yaml:1:22: constraints[0].weight_bytes[1]: expected a number, or bytes such as 64k or 64 "
            "KiB, got 64m");
}

TEST(ObjectiveSet, NeedsNoConstraints) {
  const ConfigNode objectives = config_from_yaml("[{minimize: flops}]");
  EXPECT_TRUE(ObjectiveSet::parse(objectives, nullptr, {}).constraints().empty());
  EXPECT_TRUE(parse("[{minimize: flops}]", "").constraints().empty());
  EXPECT_TRUE(parse("[{minimize: flops}]", "[]").constraints().empty());
}

TEST(ObjectiveSet, TakesAnOpenBound) {
  const ObjectiveSet set = parse("[{minimize: flops}]", "[{parameters: [10, .inf]}]");
  EXPECT_TRUE(set.feasible(architecture_of(1'000'000'000, 1)));
  EXPECT_FALSE(set.feasible(architecture_of(9, 1)));
}

TEST(ObjectiveSet, NamesTheMeasuredMetricsThatItNeedsOnce) {
  EXPECT_THAT(parse("[{maximize: validation_accuracy}, {minimize: flops}]",
                    "[{latency_ms: [0, 1]}, {validation_accuracy: [0.5, 1]}]")
                  .measured_needed(),
              ElementsAre("validation_accuracy", "latency_ms"));
  EXPECT_TRUE(parse("[{minimize: flops}]").measured_needed().empty());
}

TEST(ObjectiveSet, ChecksComputedConstraintsWithTheirBoundsIncluded) {
  const ObjectiveSet set = parse("[{minimize: flops}]", "[{parameters: [10, 20]}, {latency_ms: [0, 0]}]");
  EXPECT_FALSE(set.feasible(architecture_of(9, 1)));
  EXPECT_TRUE(set.feasible(architecture_of(10, 1)));
  EXPECT_TRUE(set.feasible(architecture_of(20, 1)));
  EXPECT_FALSE(set.feasible(architecture_of(21, 1)));
}

TEST(ObjectiveSet, GivesValuesInTheUsersSenseAndMinimized) {
  const ObjectiveSet set =
      parse("[{maximize: validation_accuracy}, {minimize: flops}, {minimize: latency_ms}]");
  const trial::CommittedTrial trial = trial_with(trial::Measurements{{0.75, 3.5}});
  EXPECT_THAT(set.values(trial).value(), ElementsAre(0.75, 2000, 3.5));
  EXPECT_THAT(set.minimized(trial).value(), ElementsAre(-0.75, 2000, 3.5));
}

TEST(ObjectiveSet, GivesNoValuesForAFailure) {
  const ObjectiveSet set = parse("[{minimize: flops}]");
  EXPECT_FALSE(set.values(trial_with(trial::Failure{trial::FailureKind::kDiverged, "loss is nan"})));
  EXPECT_FALSE(set.minimized(trial_with(trial::Failure{trial::FailureKind::kDiverged, "loss is nan"})));
}

TEST(ObjectiveSet, GivesNoValuesForANanThatItNeedsAndIgnoresOthers) {
  const ObjectiveSet set = parse("[{maximize: validation_accuracy}, {minimize: flops}]");
  EXPECT_FALSE(set.values(trial_with(trial::Measurements{{kNan, 1}})));
  EXPECT_TRUE(set.values(trial_with(trial::Measurements{{0.5, kNan}})));
}

TEST(ObjectiveSet, ChecksMeasuredConstraintsAfterTheTrial) {
  const ObjectiveSet set = parse("[{maximize: validation_accuracy}]", "[{latency_ms: [1, 2]}]");
  EXPECT_TRUE(set.values(trial_with(trial::Measurements{{0.5, 1}})));
  EXPECT_TRUE(set.values(trial_with(trial::Measurements{{0.5, 2}})));
  EXPECT_FALSE(set.values(trial_with(trial::Measurements{{0.5, 2.5}})));
  EXPECT_FALSE(set.values(trial_with(trial::Measurements{{0.5, 0.5}})));
  EXPECT_FALSE(set.values(trial_with(trial::Measurements{{0.5, kNan}})));
}

TEST(ObjectiveSet, RefusesAResultWithFewerValuesThanMetrics) {
  const ObjectiveSet set = parse("[{minimize: latency_ms}]");
  EXPECT_THROW(set.values(trial_with(trial::Measurements{{0.5}})), InternalError);
}

TEST(ObjectiveSet, RefusesUnknownMetricsWithASuggestion) {
  EXPECT_EQ(objectives_error("- {maximize: validation_acuracy}"),
            "run.yaml:1:14: objectives[0].maximize: unknown metric `validation_acuracy`, did you mean "
            "`validation_accuracy`?");
  EXPECT_EQ(
      objectives_error("- {minimize: flops}\n- {minimize: speed}"),
      "run.yaml:2:14: objectives[1].minimize: unknown metric `speed`, known here: parameters, flops, macs, "
      "peak_activation_bytes, training_activation_bytes, weight_bytes, int8_peak_activation_bytes, int8_weight_bytes, validation_accuracy, latency_ms");
  EXPECT_EQ(constraints_error("- {accuracy: [0.5, 1]}"),
            "run.yaml:1:4: constraints[0]: unknown metric `accuracy`, did you mean `validation_accuracy`?");
  EXPECT_EQ(constraints_error("- {params: [0, 1]}"),
            "run.yaml:1:4: constraints[0]: unknown metric `params`, did you mean `parameters`?");
}

TEST(ObjectiveSet, RefusesMissingAndMalformedObjectives) {
  const std::string example = "[{maximize: validation_accuracy}]";
  EXPECT_EQ(objectives_error("[]"),
            "run.yaml:1:1: objectives: expected a list of at least one objective, e.g. " + example +
                ", got an empty list");
  EXPECT_EQ(
      objectives_error("flops"),
      "run.yaml:1:1: objectives: expected a list of at least one objective, e.g. " + example + ", got flops");
  EXPECT_EQ(objectives_error("[flops]"),
            "run.yaml:1:2: objectives[0]: expected {maximize: METRIC} or {minimize: METRIC}, got flops");
  EXPECT_EQ(objectives_error("[{maximise: validation_accuracy}]"),
            "run.yaml:1:3: objectives[0]: unknown key `maximise`, did you mean `maximize`?");
  EXPECT_EQ(objectives_error("[{minimize: flops}, {maximize: flops}]"),
            "run.yaml:1:21: objectives[1]: `flops` is listed twice");
}

TEST(ObjectiveSet, RefusesMalformedConstraints) {
  EXPECT_EQ(constraints_error("{flops: [0, 1]}"), "run.yaml:1:1: constraints: expected a list, got a map");
  EXPECT_EQ(constraints_error("- flops"),
            "run.yaml:1:3: constraints[0]: expected {METRIC: [low, high]}, got flops");
  EXPECT_EQ(constraints_error("- {flops: 5}"),
            "run.yaml:1:11: constraints[0].flops: expected [low, high], got 5");
  EXPECT_EQ(constraints_error("- {flops: [1, 2, 3]}"),
            "run.yaml:1:11: constraints[0].flops: expected [low, high], got a list of 3");
  EXPECT_EQ(constraints_error("- {flops: [0, many]}"),
            "run.yaml:1:15: constraints[0].flops[1]: expected a number, got many");
  EXPECT_EQ(constraints_error("- {flops: [5, 2.5]}"),
            "run.yaml:1:11: constraints[0].flops: the lower bound 5 is above the upper bound 2.5");
  EXPECT_EQ(
      constraints_error("- {flops: [.inf, .inf]}"),
      "run.yaml:1:11: constraints[0].flops: expected bounds that a finite number can meet, got [.inf, .inf]");
  EXPECT_EQ(constraints_error("- {flops: [-.inf, -.inf]}"),
            "run.yaml:1:11: constraints[0].flops: expected bounds that a finite number can meet, got [-.inf, "
            "-.inf]");
  EXPECT_EQ(constraints_error("- {flops: [0, 5]}\n- {flops: [1, 5]}"),
            "run.yaml:2:3: constraints[1]: `flops` is listed twice");
}

TEST(Constraint, IsWrittenAsInTheConfiguration) {
  EXPECT_EQ(to_text(Constraint{"flops", 0, 1e9, true, 0}), "flops: [0, 1000000000]");
  EXPECT_EQ(to_text(Constraint{"latency_ms", -2, 0.25, false, 0}), "latency_ms: [-2, 0.25]");
}

}  // namespace
}  // namespace skyline::objective
