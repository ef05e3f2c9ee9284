#include "report/files/trials_json.hpp"

#include "report/sample_run.hpp"
#include "support/yaml_config.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skyline::report {
namespace {

using nlohmann::ordered_json;
using ::testing::ElementsAre;

ordered_json pareto_of(const testing::SampleRun& run, const testing::SampleFolder& folder) {
  write_pareto_json(folder.paths(), run.inputs());
  return ordered_json::parse(testing::text_of(folder.paths().pareto_json()));
}

ordered_json models_of(const testing::SampleRun& run, const testing::SampleFolder& folder) {
  write_models_json(folder.paths(), run.inputs());
  return ordered_json::parse(testing::text_of(folder.paths().models_json()));
}

std::vector<std::string> keys_of(const ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(ParetoJson, SaysWhatWasSearchedForAndHowLargeTheFrontIs) {
  const testing::SampleRun run;
  const testing::SampleFolder folder;
  const ordered_json json = pareto_of(run, folder);
  EXPECT_THAT(keys_of(json), ElementsAre("format", "run", "objectives", "constraints", "yardsticks",
                                         "hypervolume", "final_front", "search_front"));
  EXPECT_EQ(json.at("format"), 3);
  EXPECT_EQ(json.at("run"), folder.paths().root.filename().string());
  EXPECT_EQ(
      json.at("objectives"),
      ordered_json::parse(
          R"([{"metric": "validation_accuracy", "sense": "maximize", "reference": 0.0, "ideal": 1.0, "scale": "linear"},
                    {"metric": "flops", "sense": "minimize", "reference": 5e8, "ideal": 5e4, "scale": "log"}])"));
  EXPECT_EQ(json.at("constraints"), ordered_json::parse(R"([{"metric": "parameters", "low": 0.0, "high": 1e6},
                                                            {"metric": "latency_ms", "low": 0.0, "high": 5.0}])"));
  EXPECT_EQ(json.at("hypervolume").at("search"), run.state().volume().value());
  EXPECT_EQ(json.at("hypervolume").at("final"), run.state().final_volume().value());
  EXPECT_GT(json.at("hypervolume").at("search"), json.at("hypervolume").at("final"));
}

TEST(ParetoJson, WritesNullForTheOpenSideOfAConstraint) {
  testing::SampleRun run;
  const ConfigNode objectives = testing::config_from_yaml("[{maximize: validation_accuracy}]");
  const ConfigNode constraints = testing::config_from_yaml("[{flops: [10, .inf]}]");
  run.objectives = objective::ObjectiveSet::parse(objectives, &constraints, run.metrics);
  const testing::SampleFolder folder;
  EXPECT_EQ(pareto_of(run, folder).at("constraints"),
            ordered_json::parse(R"([{"metric": "flops", "low": 10.0, "high": null}])"));
}

TEST(ParetoJson, HoldsTheFinalFrontWithItsOwnMeasurements) {
  const testing::SampleRun run;
  const testing::SampleFolder folder;
  const ordered_json front = pareto_of(run, folder).at("final_front");
  ASSERT_EQ(front.size(), 1U);
  EXPECT_EQ(front[0].at("trial"), 1);
  EXPECT_EQ(front[0].at("phase"), "final");
  EXPECT_EQ(front[0].at("epochs"), 10.0);
  EXPECT_EQ(front[0].at("objectives").at("validation_accuracy"), 0.99);
  EXPECT_EQ(front[0].at("metrics").at("test_accuracy"), 0.97);
  EXPECT_EQ(front[0].at("on_front"), true);
}

/// Adds repeats of the full training of trial 1, of which the last one failed.
void add_repeats_of_1(testing::SampleRun& run) {
  for (const std::uint32_t repeat : {1U, 2U}) {
    trial::CommittedTrial again = run.committed[4];
    again.trial.proposal.final_repeat = repeat;
    again.outcome = trial::Measurements{{0.97, 4.9, 0.95, 840}};
    if (repeat == 2) again.outcome = trial::Failure{trial::FailureKind::kDiverged, "NaN"};
    run.committed.push_back(again);
  }
}

TEST(ParetoJson, ComparesTheMeansOfRepeatsAndTellsTheirDeviation) {
  testing::SampleRun run;
  add_repeats_of_1(run);
  const testing::SampleFolder folder;
  const ordered_json json = pareto_of(run, folder);
  const ordered_json& member = json.at("final_front").at(0);
  EXPECT_DOUBLE_EQ(member.at("objectives").at("validation_accuracy"), 0.98);
  EXPECT_DOUBLE_EQ(member.at("constraints").at("latency_ms"), 4.7);
  EXPECT_EQ(member.at("metrics").at("validation_accuracy"), 0.99) << "that of the model that is kept";
  const ordered_json& repeats = member.at("repeats");
  EXPECT_EQ(repeats.at("count"), 3);
  EXPECT_EQ(repeats.at("failed"), 1);
  EXPECT_DOUBLE_EQ(repeats.at("metrics").at("test_accuracy").at("mean"), 0.96);
  EXPECT_NEAR(repeats.at("metrics").at("test_accuracy").at("deviation"), 0.02 / std::sqrt(2), 1e-12);
  EXPECT_EQ(repeats.at("metrics").at("test_accuracy").at("count"), 2);
  EXPECT_EQ(json.at("search_front").at(0).at("final").at("repeats"), repeats);
  EXPECT_FALSE(json.contains("seeds")) << "these are trainings of one trial";
}

TEST(ParetoJson, GivesSharesTheirIntervalsByTheNumberOfSamples) {
  testing::SampleRun run;
  run.baselines = {{.metric = "validation_accuracy", .samples = 288, .scored = 29, .constant = 0.25},
                   {.metric = "test_accuracy", .samples = 355, .scored = {}, .constant = {}},
                   {.metric = "latency_ms", .samples = {}, .scored = {}, .constant = 3}};
  const testing::SampleFolder folder;
  const ordered_json json = pareto_of(run, folder);
  EXPECT_EQ(json.at("yardsticks"), ordered_json::parse(R"({
    "validation_accuracy": {"samples": 288, "scored": 29, "constant": 0.25}, "test_accuracy": {"samples": 355},
    "latency_ms": {"constant": 3.0}})"));
  const ordered_json& full = json.at("final_front").at(0).at("intervals");
  EXPECT_THAT(keys_of(full), ElementsAre("validation_accuracy", "test_accuracy"));
  EXPECT_LT(full.at("validation_accuracy").at(0), 0.99);
  EXPECT_GT(full.at("validation_accuracy").at(1), 0.99);
  const ordered_json& searched = json.at("search_front").at(0).at("intervals");
  EXPECT_THAT(keys_of(searched), ElementsAre("validation_accuracy"));
  EXPECT_LT(searched.at("validation_accuracy").at(0), 0.9) << "of 29 samples";
}

TEST(ModelsJson, NumbersTheRepeatsOfAFullTraining) {
  testing::SampleRun run;
  add_repeats_of_1(run);
  const testing::SampleFolder folder;
  const ordered_json trials = models_of(run, folder).at("trials");
  ASSERT_EQ(trials.size(), 8U);
  EXPECT_FALSE(trials[4].contains("final_repeat"));
  EXPECT_EQ(trials[4].at("metrics").at("validation_accuracy"), 0.99);
  EXPECT_EQ(trials[6].at("final_repeat"), 1);
  EXPECT_EQ(trials[6].at("metrics").at("validation_accuracy"), 0.97);
  EXPECT_EQ(trials[7].at("status"), "diverged");
}

TEST(ParetoJson, HasNoFinalFrontWithoutFullTrainings) {
  testing::SampleRun run;
  run.committed.resize(4);
  const testing::SampleFolder folder;
  const ordered_json json = pareto_of(run, folder);
  EXPECT_TRUE(json.at("final_front").empty());
  EXPECT_TRUE(json.at("hypervolume").at("final").is_null());
  EXPECT_EQ(json.at("search_front").size(), 2U);
}

TEST(ParetoJson, WritesNullForAVolumeThatIsNotKnown) {
  testing::SampleRun run;
  const ConfigNode objectives = testing::config_from_yaml("[{minimize: latency_ms}]");
  run.objectives = objective::ObjectiveSet::parse(objectives, nullptr, run.metrics);
  const testing::SampleFolder folder;
  const ordered_json json = pareto_of(run, folder);
  EXPECT_TRUE(json.at("hypervolume").at("search").is_null());
  EXPECT_TRUE(json.at("objectives")[0].at("reference").is_null());
}

TEST(ParetoJson, HoldsTheFrontOfTheSearchBestFirstWithItsFullTrainings) {
  const testing::SampleRun run;
  const testing::SampleFolder folder;
  const ordered_json front = pareto_of(run, folder).at("search_front");
  ASSERT_EQ(front.size(), 2U);
  EXPECT_EQ(front[0], ordered_json::parse(R"({
    "trial": 1, "arch_id": "9999999999999999", "archai_id": "00499976e367af150716d050c76b2ce013f77d0b",
    "parameters": {"depth": 9, "kernel": 3, "width": 64},
    "objectives": {"validation_accuracy": 0.98125, "flops": 465200000},
    "constraints": {"parameters": 298442, "latency_ms": 4.5},
    "costs": {"parameters": 298442, "flops": 465200000, "macs": 232600000, "peak_activation_bytes": 2048,
              "training_activation_bytes": 0, "weight_bytes": 0},
    "metrics": {"validation_accuracy": 0.98125, "latency_ms": 4.5, "test_accuracy": null, "steps": 42.0},
    "phase": "search", "origin": "initial", "iteration": 0, "parents": [], "epochs": 0.5, "horizon": 0.5, "members": 1,
    "cost": "0", "seed": "18446744073709551614", "status": "ok", "reason": null, "on_front": true,
    "final": {"origin": "front", "iteration": 0, "parents": [], "epochs": 10.0, "horizon": 10.0, "members": 1,
              "cost": "0", "seed": "18446744073709551611",
              "status": "ok", "reason": null, "on_front": true, "validation_accuracy": 0.99,
              "latency_ms": 4.5, "test_accuracy": 0.97, "steps": 840.0}})"));
  EXPECT_EQ(front[1].at("trial"), 0);
  EXPECT_EQ(front[1].at("final").at("on_front"), false);
  EXPECT_EQ(front[1].at("final").at("status"), "out_of_memory");
  EXPECT_EQ(front[1].at("final").at("reason"), "no room for \"conv2d_0\"");
}

TEST(ParetoJson, NamesTheWeightsFilesThatAreThere) {
  const testing::SampleRun run;
  const testing::SampleFolder folder;
  folder.write(folder.paths().weights({1}), "weights");
  const ordered_json front = pareto_of(run, folder).at("search_front");
  EXPECT_EQ(front[0].at("weights"), "weights/1.h5");
  EXPECT_FALSE(front[0].at("final").contains("weights"));
  EXPECT_FALSE(front[1].contains("weights"));
  folder.write(folder.paths().weights({1, true}), "weights");
  const ordered_json later = pareto_of(run, folder).at("search_front");
  EXPECT_EQ(later[0].at("weights"), "weights/1.h5");
  EXPECT_EQ(later[0].at("final").at("weights"), "weights/1.final.h5");
}

TEST(ModelsJson, SaysWhatATrialInherited) {
  testing::SampleRun run;
  const testing::SampleFolder folder;
  run.committed[2].trial.proposal.start = trial::Inherit{1, {}, 0.75};
  const ordered_json trials = models_of(run, folder).at("trials");
  EXPECT_EQ(trials[2].at("inherits"), ordered_json::parse(R"({"from": 1, "share": 0.75})"));
  EXPECT_FALSE(trials[1].contains("inherits"));
}

TEST(ModelsJson, SaysWhatATrialContinuesAndWhatItsTrainingInherited) {
  testing::SampleRun run;
  const testing::SampleFolder folder;
  run.committed[2].trial.proposal.start = trial::Continue{1, 0.5, trial::Inherit{0, {}, 0.75}};
  const ordered_json trials = models_of(run, folder).at("trials");
  EXPECT_EQ(trials[2].at("continues"), 1);
  EXPECT_EQ(trials[2].at("inherits"), ordered_json::parse(R"({"from": 0, "share": 0.75})"));
}

TEST(ModelsJson, SaysHowManyMembersTrainedAGroupsTrial) {
  testing::SampleRun run;
  const testing::SampleFolder folder;
  run.committed[2].trial.members = 4;
  const ordered_json trials = models_of(run, folder).at("trials");
  EXPECT_EQ(trials[2].at("members"), 4);
  EXPECT_FALSE(trials[1].contains("members"));
}

TEST(ModelsJson, LeavesOutWhatIsElsewhereOrTheSameForMost) {
  testing::SampleRun run;
  run.committed[2].trial.proposal.horizon = {8};
  const testing::SampleFolder folder;
  const ordered_json trials = models_of(run, folder).at("trials");
  EXPECT_EQ(trials[1], ordered_json::parse(R"({
    "trial": 1, "arch_id": "9999999999999999", "parameters": {"depth": 9, "kernel": 3, "width": 64},
    "costs": {"parameters": 298442, "flops": 465200000, "macs": 232600000, "peak_activation_bytes": 2048,
              "training_activation_bytes": 0, "weight_bytes": 0},
    "metrics": {"validation_accuracy": 0.98125, "latency_ms": 4.5, "steps": 42.0},
    "phase": "search", "origin": "initial", "iteration": 0, "parents": [], "epochs": 0.5,
    "seed": "18446744073709551614", "status": "ok", "on_front": true,
    "final": {"origin": "front", "iteration": 0, "parents": [], "epochs": 10.0, "horizon": 10.0, "members": 1,
              "cost": "0", "seed": "18446744073709551611", "status": "ok", "on_front": true,
              "validation_accuracy": 0.99, "latency_ms": 4.5, "test_accuracy": 0.97, "steps": 840.0}})"));
  EXPECT_EQ(trials[2].at("horizon"), 8.0);
  EXPECT_EQ(models_of(run, folder).at("format"), 4);
}

TEST(ModelsJson, HoldsEveryTrialInOrderFailedOnesToo) {
  const testing::SampleRun run;
  const testing::SampleFolder folder;
  const ordered_json trials = models_of(run, folder).at("trials");
  ASSERT_EQ(trials.size(), 6U);
  std::vector<std::size_t> numbers;
  for (const ordered_json& trial : trials) numbers.push_back(trial.at("trial"));
  EXPECT_EQ(numbers, (std::vector<std::size_t>{0, 1, 2, 3, 1, 0}));
  const ordered_json& failed = trials[3];
  EXPECT_EQ(failed.at("status"), "diverged");
  EXPECT_EQ(failed.at("reason"), "the loss is NaN at step 12");
  EXPECT_EQ(failed.at("parents"), ordered_json::parse("[0, 1]"));
  EXPECT_EQ(failed.at("origin"), "crossover");
  EXPECT_TRUE(failed.at("metrics").empty());
  EXPECT_EQ(failed.at("costs").at("flops"), 100000);
  EXPECT_EQ(trials[4].at("phase"), "final");
  EXPECT_FALSE(trials[4].contains("final"));
}

TEST(ModelsJson, NamesNoWeightsForAFailedTrialOfAnArchitectureThatHasSome) {
  const testing::SampleRun run;
  const testing::SampleFolder folder;
  const ordered_json trials = models_of(run, folder).at("trials");
  folder.write(folder.paths().weights({0}), "weights of the search trial");
  folder.write(folder.paths().weights({0, true}), "weights of an earlier full training");
  const ordered_json again = models_of(run, folder).at("trials");
  EXPECT_EQ(again[0].at("arch_id"), again[5].at("arch_id"));
  EXPECT_TRUE(again[0].contains("weights"));
  EXPECT_FALSE(again[5].contains("weights"));
}

TEST(ModelsJson, NamesTheWeightsOfTheLastFullTrainingOfAnArchitectureOnly) {
  testing::SampleRun run;
  const testing::SampleFolder folder;
  const auto add_full_training = [&](double epochs, trial::Outcome outcome) {
    trial::CommittedTrial more = run.committed[4];
    more.position = run.committed.size();
    more.trial.proposal.budget.epochs = epochs;
    more.outcome = std::move(outcome);
    run.committed.push_back(more);
  };
  add_full_training(20, testing::measured(0.99, 4));
  add_full_training(30, trial::Failure{trial::FailureKind::kException, "it left the file alone"});
  folder.write(folder.paths().weights({1, true}), "weights of trial 6");
  const ordered_json trials = models_of(run, folder).at("trials");
  EXPECT_FALSE(trials[4].contains("weights"));
  EXPECT_EQ(trials[6].at("weights"), "weights/1.final.h5");
  EXPECT_FALSE(trials[7].contains("weights"));
}

TEST(ModelsJson, LeavesOutParametersThatTheNetworkDoesNotUseAndInfinity) {
  testing::SampleRun run;
  auto architecture = std::make_shared<space::Architecture>(run.committed[0].trial.architecture());
  architecture->used[1] = false;
  run.committed[0].trial.proposal.architecture = architecture;
  run.committed[0].outcome = testing::measured(0.5, std::numeric_limits<double>::infinity());
  const testing::SampleFolder folder;
  const ordered_json trial = models_of(run, folder).at("trials")[0];
  EXPECT_FALSE(trial.at("parameters").contains("kernel"));
  EXPECT_EQ(trial.at("parameters").at("depth"), 1);
  EXPECT_FALSE(trial.at("metrics").contains("latency_ms"));
}

TEST(ParetoJson, WritesNullForParametersThatTheNetworkDoesNotUse) {
  testing::SampleRun run;
  auto architecture = std::make_shared<space::Architecture>(run.committed[0].trial.architecture());
  architecture->used[1] = false;
  run.committed[0].trial.proposal.architecture = architecture;
  const testing::SampleFolder folder;
  EXPECT_TRUE(pareto_of(run, folder).at("search_front").back().at("parameters").at("kernel").is_null());
}

TEST(ModelsJson, HasOneLineForEachTrial) {
  testing::SampleRun run;
  for (const std::size_t trials : {run.committed.size(), std::size_t{0}}) {
    run.committed.resize(trials);
    const testing::SampleFolder folder;
    ordered_json models = models_of(run, folder);
    std::string lines = trials == 0 ? "]" : "\n  ]";
    const char* end = "";
    for (auto trial = models.at("trials").rbegin(); trial != models.at("trials").rend(); ++trial) {
      lines.insert(0, "\n    " + trial->dump() + std::exchange(end, ","));
    }
    models["trials"] = ordered_json::array();
    std::string expected = models.dump(2) + "\n";
    expected.replace(expected.find("[]\n}"), 2, "[" + lines);
    EXPECT_EQ(testing::text_of(folder.paths().models_json()), expected);
  }
}

TEST(ModelsJson, ReplacesBytesOfAReasonThatAreNoUtf8) {
  testing::SampleRun run;
  run.committed[3].outcome = trial::Failure{trial::FailureKind::kException, "bad \xff byte"};
  const testing::SampleFolder folder;
  EXPECT_EQ(models_of(run, folder).at("trials")[3].at("reason"), "bad \xEF\xBF\xBD byte");
}

TEST(ModelsJson, NamesTheRunOfAFolderWithATrailingSlash) {
  const testing::SampleRun run;
  const testing::SampleFolder folder;
  const store::RunPaths slashed{folder.paths().root / ""};
  write_models_json(slashed, run.inputs());
  EXPECT_EQ(ordered_json::parse(testing::text_of(slashed.models_json())).at("run"),
            folder.paths().root.filename().string());
}

}  // namespace
}  // namespace skyline::report
