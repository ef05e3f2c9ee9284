#include "app/config/run_config.hpp"

#include "skyline/core/error.hpp"
#include "skyline/search/algorithm.hpp"

#include "app/config/config_file.hpp"
#include "app/config/new_run_check.hpp"
#include "app/run_config_case.hpp"
#include "core/config/config_errors.hpp"
#include "core/config/config_text.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

TEST_F(RunConfigTest, EveryShippedConfigurationIsValid) {
  const fs::path here = fs::current_path();
  fs::current_path(kSource);  // where their trainers are found
  // A program that comes with the packages of a worked example, which need not be here.
  fs::create_symlink("/bin/true", folder_ / "torchrun");
  const std::string path = std::string(std::getenv("PATH")) + ":" + folder_.string();
  ASSERT_EQ(::setenv("PATH", path.c_str(), 1), 0);
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "configs")) {
    const fs::path& file = entry.path();
    const fs::path folder = file.parent_path().filename();  // these two have spaces alone
    if (file.extension() != ".yaml" || folder == "presets" || folder == "known") continue;
    SCOPED_TRACE(file.string());
    const RunConfig config = RunConfig::parse(load(file), true);
    EXPECT_GT(
        search::make_searcher(config.sections.search, config.space, config.objectives, 1)->expected_trials(),
        0U);
    ++count;
  }
  EXPECT_GE(count, 16U);
  fs::current_path(here);
}

TEST_F(RunConfigTest, AResolvedConfigurationResolvesToItself) {
  for (const char* name :
       {"digits.yaml", "mnist_cnn.yaml", "nasbench201.yaml", "resnet.yaml", "synthetic.yaml"}) {
    expect_resolves_to_itself(RunConfig::parse(load(kSource / "configs" / name), false));
  }
}

TEST_F(RunConfigTest, TheSampleOnMnistHasAVolumeAndExportsItsFrontAfterAFullTraining) {
  const RunConfig config = RunConfig::parse(load(kSource / "configs/mnist_cnn.yaml"), false);
  EXPECT_TRUE(config.objectives.has_volume());
  ASSERT_TRUE(config.sections.final_training);
  EXPECT_EQ(config.sections.final_training->exports, std::vector{model_export::Format::kOnnx});
}

TEST_F(RunConfigTest, TheBoxOfTheVolumesIsAPartOfARunWhoseSearchAimsAtIt) {
  const std::string model = "search={algorithm: skyline, trials: 20}";
  const std::string window = "run.window=8";
  const RunConfig plain = with({model, window});
  const std::string text = to_yaml(plain.resolved);
  EXPECT_THAT(text, ::testing::HasSubstr(
                        "- minimize: flops\n    reference: 16538250\n    ideal: 375.4\n    scale: log\n"));
  const auto expect_other = [&](const std::string& key, const std::string& flops) {
    const RunConfig other = with(
        {model, window, "objectives=[{maximize: validation_accuracy}, {minimize: flops, " + flops + "}]"});
    EXPECT_EQ(first_identity_difference(plain.resolved, other.resolved), "objectives[1]." + key);
    EXPECT_NE(other.identity_hash(), plain.identity_hash());
  };
  expect_other("reference", "reference: 1.0e+6");
  expect_other("ideal", "ideal: 100");
  expect_other("ideal", "scale: linear");
  expect_other("scale", "ideal: 375.4, scale: linear");
  expect_same_run(plain, with({model, window,
                               "objectives=[{maximize: validation_accuracy}, {minimize: flops, ideal: "
                               "375.4, reference: 16538250}]"}));
  expect_same_run(with({}),
                  with({"objectives=[{maximize: validation_accuracy, ideal: 0.99}, {minimize: flops, "
                        "reference: 1.0e+6, scale: linear}]"}));
}

TEST_F(RunConfigTest, ARunsConfigurationIsReadWithoutItsDataSet) {
  const RunConfig config = with({});
  ConfigNode tree = load_yaml_text(to_yaml(config.resolved), "config.yaml");
  apply_override(tree, "data.file=/nowhere/digits.h5");
  RunConfig read = RunConfig::read(tree);
  EXPECT_EQ(read.dataset, nullptr);
  EXPECT_EQ(read.space.genotype_count(), config.space.genotype_count());
  const DataOptions& data = read.sections.data;
  EXPECT_EQ(data.shape, (space::Shape{1, 8, 8}));
  EXPECT_EQ(data.class_names, config.dataset->class_names());
  EXPECT_EQ(data.mean, config.dataset->mean());
  EXPECT_EQ(data.deviation, config.dataset->deviation());
  EXPECT_EQ(data.value_scale, 16);
  EXPECT_EQ(data.normalization, evaluate::Normalization::kStandard);
  expect_same_run(read, config);
  read.sections.data.file = config.sections.data.file;
  read.open_data(tree.at("data"));
  EXPECT_EQ(read.split.validation, config.split.validation);
}

TEST_F(RunConfigTest, MeasuresWhatTheTargetsImplyOrTheSectionNames) {
  skyline::testing::DatasetContents table;
  table.shape = {4, 1, 1};
  table.class_names = {"price"};
  table.train.values = std::vector<float>(80, 1.5F);
  table.train.targets = std::vector<float>(20, 2.5F);
  std::get<2>(table.train.targets).front() = 1;
  table.validation = table.train;
  skyline::testing::write_dataset(folder_ / "table.h5", table);
  const std::vector<std::string> settings = {
      "data={file: " + (folder_ / "table.h5").string() + "}",
      "space.network=[linear: {features: $width}, relu, linear: {features: $classes}]",
      "space.parameters={width: {choice: [2, 4]}}", "objectives=[{minimize: validation_mse}]"};
  const RunConfig implied = with(settings);
  EXPECT_EQ(
      trial::names_of(implied.metrics),
      (std::vector<std::string>{"validation_mse", "validation_r2", "validation_rmse", "validation_loss",
                                "train_loss", "latency_ms", "test_mse", "test_r2", "test_rmse", "steps"}));
  EXPECT_EQ(implied.resolved.at("data").at("targets").as_text(), "numbers");
  EXPECT_TRUE(implied.split.stored);
  EXPECT_EQ(implied.resolved.at("data").find("validation"), nullptr);
  EXPECT_EQ(RunConfig::read(implied.resolved).identity_hash(), implied.identity_hash());

  std::vector<std::string> named = settings;
  named.insert(named.end(), {"training.metrics=[mae, mse]", "data.validation=0.25"});
  EXPECT_THAT(trial::names_of(with(named).metrics),
              ::testing::ElementsAre("validation_mae", "validation_mse", "validation_loss", "train_loss",
                                     "latency_ms", "test_mae", "test_mse", "steps"));
  EXPECT_EQ(with(named).split.validation.size(), 5U);
}

TEST_F(RunConfigTest, OnlyAConfigurationThatStatesItsDataIsReadWithoutIt) {
  const ConfigNode root = load(kSource / "configs/digits.yaml");
  EXPECT_THAT([&] { RunConfig::read(root); },
              ::testing::ThrowsMessage<UserError>(::testing::HasSubstr("data: missing key `shape`")));
}

TEST_F(RunConfigTest, ADataSetMustBeWhatTheConfigurationStates) {
  for (const std::string stated : {"shape=[1, 9, 9]", "classes=11", "class_names=[a, b]", "mean=[0.5]",
                                   "deviation=[0.5]", "value_scale=255"}) {
    const std::string key = "data." + stated.substr(0, stated.find('='));
    EXPECT_THAT([&] { with({"data." + stated}); },
                ::testing::ThrowsMessage<UserError>(::testing::HasSubstr(key + ": is not that of ")));
  }
}

TEST_F(RunConfigTest, TheSameSettingWrittenOtherwiseIsTheSameRun) {
  expect_same_run(with({}), with({"training.optimizer.adam.learning_rate=0.005",
                                  "constraints=[{parameters: [0, 100000]}]",
                                  "run={keep_weights: front, window: generation, seed: 1}"}));
}

TEST_F(RunConfigTest, ARunMayGoOnWithOtherBoundsAndKeepOtherThings) {
  for (const std::string setting : {"search.iterations=20", "final.epochs=3", "run.keep_weights=none",
                                    "run.time_limit=2 h", "run.storage_patience=5 min", "checkpoint=none",
                                    "checkpoint.interval=1 epoch", "data.stage=/tmp", "run.events=false"}) {
    SCOPED_TRACE(setting);
    expect_same_run(with({}), with({setting}));
  }
  for (const std::string algorithm : {"random", "exhaustive"}) {
    expect_same_run(with({"search={algorithm: " + algorithm + ", trials: 5}"}),
                    with({"search={algorithm: " + algorithm + ", trials: 9}"}));
  }
}

TEST_F(RunConfigTest, TheOrderOfParametersIsPartOfARun) {
  const RunConfig plain = with({});
  const RunConfig other =
      with({"space.parameters={width: {choice: [8, 16, 32]}, kernel: {choice: [1, 3, 5]}, "
            "depth: {range: [1, 6]}}"});
  EXPECT_NE(plain.identity_hash(), other.identity_hash());
  EXPECT_EQ(first_identity_difference(plain.resolved, other.resolved),
            "space.parameters (the order of its keys)");
}

TEST_F(RunConfigTest, TheOrderOfACellsNodesIsPartOfARun) {
  const auto with_nodes = [](const std::string& nodes) {
    return with({"space={network: [{conv2d: {channels: 8, kernel: 3}}, {cell: {" + nodes +
                 "}, operations: [relu, batch_norm], output: [a, b]}, global_average_pool, "
                 "{linear: {features: $classes}}]}"});
  };
  EXPECT_NE(with_nodes("a: [input], b: [input]").identity_hash(),
            with_nodes("b: [input], a: [input]").identity_hash());
}

TEST_F(RunConfigTest, TheOrderOfPlacesIsPartOfARunWhereParametersHaveAValueAtEach) {
  const auto with_layer = [](const std::string& layer, const std::string& each) {
    return with({"space={parameters: {width: {choice: [8, 16], each: " + each +
                 "}, kernel: {choice: [1, 3], each: " + each + "}}, network: [{conv2d: " + layer +
                 "}, global_average_pool, {linear: {features: $classes}}]}"});
  };
  const std::string layer = "{channels: $width, kernel: $kernel}";
  const std::string turned = "{kernel: $kernel, channels: $width}";
  EXPECT_NE(with_layer(layer, "true").identity_hash(), with_layer(turned, "true").identity_hash());
  expect_same_run(with_layer(layer, "false"), with_layer(turned, "false"));
}

TEST_F(RunConfigTest, CheckpointsAreResolvedWithTheirUnit) {
  struct Case {
    std::string setting;
    std::string interval;
    double overhead;
  };
  for (const Case& given :
       {Case{"run.seed=1", "60 s", 0.005}, Case{"checkpoint.interval=90 s", "90 s", 0.005},
        Case{"checkpoint={interval: 2 min, overhead: 0.1}", "120 s", 0.1},
        Case{"checkpoint={overhead: 1}", "60 s", 1}, Case{"checkpoint.interval=1 epoch", "1 epochs", 0.005},
        Case{"checkpoint.interval=0.5epochs", "0.5 epochs", 0.005}}) {
    SCOPED_TRACE(given.setting);
    const RunConfig config = with({given.setting});
    const ConfigNode& section = config.resolved.at("checkpoint");
    EXPECT_EQ(section.at("interval").as_text(), given.interval);
    EXPECT_EQ(section.at("overhead").as_number(), given.overhead);
    EXPECT_NE(config.sections.checkpoint->interval_s.has_value(),
              config.sections.checkpoint->interval_epochs.has_value());
    expect_resolves_to_itself(config);
  }
  const RunConfig none = with({"checkpoint=none"});
  EXPECT_EQ(none.resolved.at("checkpoint").as_text(), "none");
  EXPECT_FALSE(none.sections.checkpoint);
  expect_resolves_to_itself(none);
}

TEST_F(RunConfigTest, WithInheritanceTheWeightsThatAreKeptArePartOfTheRun) {
  EXPECT_TRUE(with({"training.inherit=true"}).engine_options().inherit);
  EXPECT_NE(with({"training.inherit=true"}).identity_hash(),
            with({"training.inherit=true", "run.keep_weights=all"}).identity_hash());
}

TEST_F(RunConfigTest, NamesInheritanceAndNotTheKeptWeightsWhereItWasChanged) {
  const ConfigNode without = with({}).resolved;
  const ConfigNode inherits = with({"training.inherit=true"}).resolved;
  const ConfigNode keeps_all = with({"training.inherit=true", "run.keep_weights=all"}).resolved;
  EXPECT_EQ(first_identity_difference(without, inherits), "training.inherit");
  EXPECT_EQ(first_identity_difference(keeps_all, without), "training.inherit");
  EXPECT_EQ(first_identity_difference(inherits, keeps_all), "run.keep_weights");
}

TEST_F(RunConfigTest, StorageIsGivenAMinuteUnlessToldOtherwise) {
  EXPECT_EQ(with({}).resolved.at("run").at("storage_patience").as_text(), "60 s");
  const RunConfig config = with({"run.storage_patience=2 min"});
  EXPECT_EQ(config.sections.run.storage_patience_s, 120);
  expect_resolves_to_itself(config);
}

TEST_F(RunConfigTest, EventFilesAreWrittenUnlessToldOtherwise) {
  EXPECT_TRUE(with({}).sections.run.events);
  EXPECT_EQ(with({}).resolved.at("run").at("events").as_text(), "true");
  const RunConfig config = with({"run.events=false"});
  EXPECT_FALSE(config.sections.run.events);
  expect_resolves_to_itself(config);
}

TEST_F(RunConfigTest, DataAreReadWhereTheyLieUnlessAFolderForCopiesIsNamed) {
  for (const std::vector<std::string>& settings : {std::vector<std::string>{}, {"data.stage=none"}}) {
    EXPECT_TRUE(with(settings).sections.data.stage.empty());
  }
  const RunConfig config = with({"data.stage=/local/scratch"});  // need not be there where this is read
  EXPECT_EQ(config.sections.data.stage, "/local/scratch");
  expect_resolves_to_itself(config);
}

TEST_F(RunConfigTest, ATimeLimitIsOptionalAndInSeconds) {
  EXPECT_FALSE(with({}).sections.run.time_limit_s);
  const RunConfig config = with({"run.time_limit=1h30m"});
  EXPECT_EQ(config.sections.run.time_limit_s, 5400);
  EXPECT_EQ(config.resolved.at("run").at("time_limit").as_text(), "5400 s");
  expect_resolves_to_itself(config);
}

TEST_F(RunConfigTest, AWindowMayBeAMultipleOfTheVirtualSlots) {
  const auto window_of = [&](const std::string& run) {
    const RunConfig config = with({"run=" + run});
    expect_resolves_to_itself(config);
    return config.engine_options().window_trials();
  };
  EXPECT_EQ(window_of("{window: 5}"), 5U);
  EXPECT_EQ(window_of("{window: 2.5x, virtual_slots: 5}"), 13U);
  EXPECT_EQ(window_of("{window: generation, virtual_slots: 5}"), std::nullopt);
  EXPECT_EQ(window_of("{window: 2x, virtual_slots: 5, commit: virtual_time}"), 10U);
}

TEST_F(RunConfigTest, TheWindowOfSkylineIsEightUnlessItIsStated) {
  const auto window_of = [&](const std::string& run) {
    const RunConfig config = with({"search={trials: 20}", "run=" + run});
    expect_resolves_to_itself(config);
    return config.engine_options().window_trials();
  };
  EXPECT_EQ(window_of("{}"), 8U);
  EXPECT_EQ(window_of("{seed: 3}"), 8U);
  EXPECT_EQ(window_of("{window: 5}"), 5U);
  EXPECT_EQ(window_of("{commit: virtual_time, virtual_slots: 4}"), 8U);
  try {
    (void)with({"search={trials: 20}", "run={window: generation}"});
    FAIL() << "expected a refusal";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("run.window: expected a number of trials, got generation: "
                                                   "`algorithm: skyline` has no generations"));
  }
}

TEST_F(RunConfigTest, MeasuresInt8WhereFullTrainingsOrAnAimAskForIt) {
  const auto int8_metrics = [&](std::vector<std::string> settings) {
    const RunConfig config = with(settings);
    expect_resolves_to_itself(config);
    std::vector<std::string> found;
    for (const trial::Metric& metric : config.metrics) {
      const bool is_full = metric.when == trial::Metric::When::kFullTraining;
      if (metric.name.starts_with("int8_")) found.push_back(metric.name + (is_full ? ", full" : ""));
    }
    return found;
  };
  const std::vector<std::string> full = {"int8_validation_accuracy, full", "int8_test_accuracy, full"};
  const std::string aims = "objectives=[{maximize: validation_accuracy}, {minimize: int8_weight_bytes}]";
  EXPECT_THAT(int8_metrics({}), ::testing::IsEmpty());
  EXPECT_EQ(with({}).resolved.at("training").find("int8"), nullptr);
  EXPECT_EQ(int8_metrics({"final={epochs: 1, int8: true}"}), full);
  EXPECT_EQ(int8_metrics({"final={epochs: 1}", aims}), full);
  EXPECT_EQ(int8_metrics({aims}), full) << "a run that has begun may get full trainings";
  EXPECT_EQ(int8_metrics({"final={epochs: 1}", "constraints=[{int8_weight_bytes: [0, 9000]}]"}), full);
  EXPECT_THAT(int8_metrics({"final={epochs: 1, int8: false}", aims}), ::testing::IsEmpty());
  EXPECT_THAT(int8_metrics({"final={epochs: 1, int8: true}", "training.int8=true"}),
              ::testing::ElementsAre("int8_validation_accuracy", "int8_test_accuracy, full"));
}

TEST_F(RunConfigTest, HowTheOptimizersStateIsSpreadIsNoPartOfARun) {
  expect_same_run(with({"training.group.members=2"}),
                  with({"training.group.members=2", "training.group.sharding=gradients"}));
}

TEST_F(RunConfigTest, NamesTheSettingInWhichTwoRunsDiffer) {
  const RunConfig plain = RunConfig::parse(load(kSource / "configs/digits.yaml"), false);
  for (const std::string key : {"search.initial", "training.batch", "run.seed", "run.window"}) {
    ConfigNode root = load(kSource / "configs/digits.yaml");
    apply_override(root, key + "=7");
    const RunConfig other = RunConfig::parse(root, false);
    EXPECT_EQ(first_identity_difference(plain.resolved, other.resolved), key);
    EXPECT_NE(plain.identity_hash(), other.identity_hash());
  }
}

TEST_F(RunConfigTest, TellsTheMistakesOfAllPartsAtOnce) {
  const auto lines_of = [](std::vector<std::string> settings) {
    settings.insert(settings.end(),
                    {"run.sead=3", "space.network=[rellu]", "objectives=[{maximise: flops}]"});
    try {
      (void)with(settings);
    } catch (const ConfigErrors& errors) {
      return errors.lines();
    }
    return std::vector<std::string>{};
  };
  const auto section = ::testing::HasSubstr("run: unknown key `sead`, did you mean `seed`?");
  const auto space = ::testing::HasSubstr("space.network[0]: unknown layer `rellu`, did you mean `relu`?");
  const auto objectives = ::testing::HasSubstr("unknown key `maximise`, did you mean `maximize`?");
  EXPECT_THAT(lines_of({}), ::testing::ElementsAre(section, space, objectives));
  EXPECT_THAT(
      lines_of({"data.classes=11"}),
      ::testing::ElementsAre(section, ::testing::HasSubstr("data.classes: is not that of "), objectives))
      << "of no known shape, the space is not read";
  EXPECT_THAT(
      lines_of({"data.file=nowhere.h5"}),
      ::testing::ElementsAre(section, ::testing::HasSubstr("data.file: there is no nowhere.h5"), objectives));
}

TEST_F(RunConfigTest, TellsOfAMetricThatIsNotMeasuredBesideAMistakeInTheSpace) {
  try {
    (void)with({"space.network=[rellu]", "objectives=[{maximize: validation_auc}]"});
    FAIL() << "expected both mistakes";
  } catch (const ConfigErrors& errors) {
    EXPECT_THAT(errors.lines(),
                ::testing::ElementsAre(::testing::HasSubstr("unknown layer `rellu`"),
                                       ::testing::HasSubstr("unknown metric `validation_auc`")));
  }
}

}  // namespace
}  // namespace skyline::app
