#include "train/options/training_options.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/option_table.hpp"

#include "core/config/config_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

/// {dotted path, scalar} pairs as a section.
ConfigNode section(const std::vector<std::pair<std::string, std::string>>& values) {
  ConfigNode root = ConfigNode::make_map({}, {"a.yaml", 1, 1});
  ConfigNode training = ConfigNode::make_map({}, {"a.yaml", 2, 1});
  for (const auto& [path, text] : values) training.set(path, ConfigNode::make_scalar(text, {"a.yaml", 3, 1}));
  root.set("training", training);
  root.assign_paths();
  return root;
}

TrainingOptions parse(const std::vector<std::pair<std::string, std::string>>& values) {
  return TrainingOptions::table().parse(section(values).at("training"));
}

std::string error_of(const std::vector<std::pair<std::string, std::string>>& values) {
  try {
    parse(values);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TrainingOptions, ReadMeasuredMetricsFromAListAsFromAMap) {
  const char* const phone = "phone: {run: [m, \"{onnx}\"], better: lower, at_once: 2, timeout: 5 s}";
  const auto read = [](const std::string& metrics) {
    return TrainingOptions::table().parse(load_yaml_text("metrics: " + metrics, "a.yaml"));
  };
  const TrainingOptions list = read("[{" + std::string(phone) + "}, {top_k: {k: 2}}, accuracy]");
  EXPECT_EQ(list.metrics.size(), 2U);
  ASSERT_EQ(list.described.size(), 1U);
  EXPECT_EQ(list.described[0].name, "phone");
  EXPECT_THAT(list.described[0].run, ::testing::ElementsAre("m", "{onnx}"));
  const TrainingOptions map = read("{" + std::string(phone) + ", top_k: {k: 2}, accuracy: }");
  const auto text = [](const TrainingOptions& options) {
    return to_yaml(TrainingOptions::table().to_config(options));
  };
  EXPECT_EQ(text(list), text(map));
  EXPECT_EQ(text(read("{" + std::string(phone) + "}")), text(read("[{" + std::string(phone) + "}]")));
  const KeyTable& keys = TrainingOptions::table();
  const auto identity = [&](const std::string& metrics) {
    return to_yaml(keys.identity(keys.complete(load_yaml_text("metrics: " + metrics, "a.yaml"))));
  };
  EXPECT_EQ(identity("[{phone: {run: [m], better: lower, at_once: 2, timeout: 5 s}}]"),
            identity("[{phone: {run: [m], better: lower}}]"));
  EXPECT_NE(identity("[{phone: {run: [n], better: lower}}]"),
            identity("[{phone: {run: [m], better: lower}}]"));
}

TEST(TrainingOptions, AreReadFromTheirSection) {
  const TrainingOptions options = parse({{"epochs", "0.1"},
                                         {"batch", "16"},
                                         {"optimizer.adam.learning_rate", "1.0e-4"},
                                         {"optimizer.adam.beta1", "0.8"},
                                         {"augment.crop", "2"},
                                         {"augment.flip", "true"},
                                         {"augment.cutout", "4"},
                                         {"precision", "fp32"},
                                         {"schedule.warmup", "0.5"},
                                         {"schedule.decay", "cosine"},
                                         {"threads", "2"},
                                         {"inherit", "true"},
                                         {"latency.batch", "8"},
                                         {"latency.repeats", "11"},
                                         {"latency.warmup", "0"}});
  EXPECT_EQ(options.epochs, 0.1);
  EXPECT_EQ(options.batch, 16);
  EXPECT_EQ(options.optimizer.kind, OptimizerOptions::Kind::kAdam);
  EXPECT_EQ(options.optimizer.learning_rate, 1e-4);
  EXPECT_EQ(options.optimizer.beta1, 0.8);
  EXPECT_EQ(options.augment.crop, 2);
  EXPECT_TRUE(options.augment.flip);
  EXPECT_EQ(options.augment.cutout, 4);
  EXPECT_EQ(options.schedule.warmup, 0.5);
  EXPECT_EQ(options.schedule.decay, ScheduleOptions::Decay::kCosine);
  EXPECT_EQ(options.threads, 2);
  EXPECT_TRUE(options.inherit);
  EXPECT_EQ(options.latency.batch, 8);
  EXPECT_EQ(options.latency.repeats, 11);
  EXPECT_EQ(options.latency.warmup, 0);
}

TEST(TrainingOptions, TakeAnOptimizerByItsNameAlone) {
  EXPECT_EQ(parse({{"optimizer", "sgd"}}).optimizer.kind, OptimizerOptions::Kind::kSgd);
  EXPECT_EQ(parse({{"optimizer", "adam"}}).optimizer.kind, OptimizerOptions::Kind::kAdam);
}

TEST(TrainingOptions, ComeBackFromTheirOwnConfig) {
  const TrainingOptions options = parse({{"epochs", "2.5"},
                                         {"augment.crop", "3"},
                                         {"augment.flip", "true"},
                                         {"inherit", "true"},
                                         {"schedule.warmup", "0.25"},
                                         {"schedule.decay", "linear"},
                                         {"optimizer.sgd.momentum", "0.8"},
                                         {"optimizer.sgd.nesterov", "true"},
                                         {"optimizer.sgd.weight_decay", "0.0001"}});
  const ConfigNode config = TrainingOptions::table().to_config(options);
  EXPECT_EQ(first_difference(TrainingOptions::table().complete(config), config), "");
  EXPECT_EQ(config.at("optimizer").at("sgd").at("momentum").as_number(), 0.8);
  EXPECT_TRUE(TrainingOptions::table().parse(config).optimizer.nesterov);
  EXPECT_EQ(TrainingOptions::table().parse(config).augment.crop, 3);
  EXPECT_TRUE(TrainingOptions::table().parse(config).augment.flip);
  EXPECT_TRUE(TrainingOptions::table().parse(config).inherit);
  EXPECT_FALSE(TrainingOptions().inherit);
  EXPECT_EQ(TrainingOptions::table().parse(config).schedule.warmup, 0.25);
  EXPECT_EQ(TrainingOptions::table().parse(config).schedule.decay, ScheduleOptions::Decay::kLinear);
}

TEST(TrainingOptions, NameWhatIsWrong) {
  EXPECT_EQ(error_of({{"epochs", "0"}}),
            "a.yaml:3:1: training.epochs: expected a number above 0 and at most 1000000, got 0");
  EXPECT_EQ(error_of({{"batch", "0"}}),
            "a.yaml:3:1: training.batch: expected a whole number from 1 to 1000000, got 0");
  EXPECT_EQ(error_of({{"threads", "two"}}),
            "a.yaml:3:1: training.threads: expected a whole number from 1 to 1024, got two");
  EXPECT_EQ(error_of({{"inherit", "all"}}), "a.yaml:3:1: training.inherit: expected true or false, got all");
  EXPECT_EQ(error_of({{"precision", "fp8"}}),
            "a.yaml:3:1: training.precision: expected `fp32`, `tf32` or `bf16`, got fp8");
  EXPECT_EQ(
      error_of({{"schedule.decay", "exponential"}}),
      "a.yaml:3:1: training.schedule.decay: expected `none`, `linear`, `cosine` or `step`, got exponential");
  EXPECT_EQ(error_of({{"schedule.warmup", "-1"}}),
            "a.yaml:3:1: training.schedule.warmup: expected a number from 0 to 1000000, got -1");
  EXPECT_EQ(
      error_of({{"optimizer", "lion"}}),
      "a.yaml:3:1: training.optimizer: expected `adam`, `adamw` or `sgd`, with or without keys below it, "
      "got lion");
  EXPECT_EQ(error_of({{"optimizer.adam.beta1", "1"}}),
            "a.yaml:3:1: training.optimizer.adam.beta1: expected a number of at least 0 and below 1, got 1");
  EXPECT_EQ(error_of({{"optimizer.sgd.momentum", "0"}, {"optimizer.sgd.nesterov", "true"}}),
            "a.yaml:3:1: training.optimizer.sgd.nesterov: nesterov needs a momentum above 0");
  EXPECT_EQ(error_of({{"latency.warmup", "-1"}}),
            "a.yaml:3:1: training.latency.warmup: expected a whole number from 0 to 1000000, got -1");
  EXPECT_EQ(error_of({{"augment.crop", "-2"}}),
            "a.yaml:3:1: training.augment.crop: expected a whole number from 0 to 1000000, got -2");
  EXPECT_EQ(error_of({{"augment.flip", "both"}}),
            "a.yaml:3:1: training.augment.flip: expected true or false, got both");
  EXPECT_THAT(error_of({{"augment.cut_out", "2"}}), ::testing::HasSubstr("did you mean `cutout`"));
  EXPECT_THAT(error_of({{"optimizer.adma.beta1", "0.5"}}), ::testing::HasSubstr("did you mean `adam`"));
  EXPECT_THAT(error_of({{"epoch", "1"}}), ::testing::HasSubstr("did you mean"));
  EXPECT_THAT(error_of({{"optimizer.adam.learning_rte", "1"}}), ::testing::HasSubstr("learning_rate"));
}

TEST(TrainingOptions, RefuseKeysOfAnotherSchedule) {
  EXPECT_THAT(error_of({{"schedule.decay", "step"}}),
              ::testing::HasSubstr("`decay: step` needs `every`: the epochs from one step to the next"));
  EXPECT_EQ(error_of({{"schedule.decay", "cosine"}, {"schedule.every", "3"}}),
            "a.yaml:3:1: training.schedule.every: `every` needs `decay: step`");
  EXPECT_EQ(error_of({{"schedule.decay", "cosine"}, {"schedule.factor", "0.5"}}),
            "a.yaml:3:1: training.schedule.factor: `factor` needs `decay: step`");
  EXPECT_EQ(error_of({{"schedule.floor", "0.1"}}),
            "a.yaml:3:1: training.schedule.floor: a floor needs `decay: linear` or `decay: cosine`");
}

TEST(TrainingOptions, SayWhatChangesImagesAndTargets) {
  EXPECT_FALSE(parse({}).augment.any());
  const TrainingOptions options = parse({{"augment.saturation", "0.4"},
                                         {"augment.mixup", "0.2"},
                                         {"loss.cross_entropy.label_smoothing", "0.1"},
                                         {"loss.cross_entropy.class_weights", "balanced"}});
  EXPECT_TRUE(options.augment.any());
  EXPECT_EQ(options.augment.saturation, 0.4);
  EXPECT_EQ(options.augment.mixup, 0.2);
  EXPECT_EQ(options.loss->name, "cross_entropy");
  EXPECT_EQ(options.loss->section.at("label_smoothing").as_number(), 0.1);
  EXPECT_EQ(options.loss->section.at("class_weights").as_text(), "balanced");
  EXPECT_EQ(error_of({{"augment.brightness", "1.5"}}),
            "a.yaml:3:1: training.augment.brightness: expected a number from 0 to 1, got 1.5");
  EXPECT_EQ(error_of({{"loss.cross_entropy.label_smoothing", "1"}}),
            "a.yaml:3:1: training.loss.cross_entropy.label_smoothing: expected a number of at least 0 and "
            "below 1, got 1");
}

TEST(TrainingOptions, DoNotWriteATeacherAndChangesThatOlderRunsDoNotKnow) {
  const ConfigNode plain = TrainingOptions::table().to_config(parse({}));
  EXPECT_EQ(plain.find("teacher"), nullptr);
  for (const char* const key : {"trivial", "time_shift", "noise", "time_mask", "frequency_mask"}) {
    EXPECT_EQ(plain.at("augment").find(key), nullptr) << key;
    const TrainingOptions options = parse({{std::string("augment.") + key, "1"}});
    EXPECT_TRUE(options.augment.any()) << key;
    EXPECT_EQ(TrainingOptions::table().to_config(options).at("augment").at(key).as_number(), 1) << key;
  }
}

TEST(TrainingOptions, CountTheOperationsOfTrivialAugmentWhereTheyAreMoreThanOlderRunsHad) {
  const auto count_in = [](const TrainingOptions& options) {
    const ConfigNode section = TrainingOptions::table().to_config(options).at("augment");
    const ConfigNode* const count = section.find("trivial_operations");
    return count == nullptr ? 0 : count->as_number();
  };
  EXPECT_EQ(parse({}).augment.trivial_operations, 12);
  EXPECT_EQ(count_in(parse({{"augment.trivial", "1"}})), 0);
  EXPECT_EQ(count_in(parse({{"augment.trivial", "1"}, {"augment.trivial_operations", "12"}})), 0);
  EXPECT_EQ(count_in(parse({{"augment.trivial_operations", "14"}})), 14) << "`trivial` may be searched";
  EXPECT_EQ(error_of({{"augment.trivial_operations", "11"}}),
            "a.yaml:3:1: training.augment.trivial_operations: expected a whole number from 12 to 14, got 11");
}

TEST(TrainingOptions, ReadATeacherWithItsDefaults) {
  const TrainingOptions options = parse({{"teacher.file", "t.h5"}, {"teacher.temperature", "2"}});
  EXPECT_EQ(options.teacher->file, "t.h5");
  EXPECT_EQ(options.teacher->weight, 0.9);
  EXPECT_EQ(options.teacher->temperature, 2);
  EXPECT_THAT(error_of({{"teacher.weight", "0.5"}}),
              ::testing::HasSubstr("training.teacher: missing key `file`"));
  EXPECT_EQ(error_of({{"teacher.file", "t.h5"}, {"teacher.weight", "1.5"}}),
            "a.yaml:3:1: training.teacher.weight: expected a number from 0 to 1, got 1.5");
}

TEST(TrainingOptions, GiveAdamWADecayOfItsOwn) {
  EXPECT_EQ(parse({{"optimizer", "adamw"}}).optimizer.decoupled_decay, 0.01);
  const TrainingOptions options =
      parse({{"optimizer.adamw.weight_decay", "0.05"}, {"optimizer.adamw.decayed", "weights"}});
  EXPECT_EQ(options.optimizer.kind, OptimizerOptions::Kind::kAdamW);
  EXPECT_EQ(options.optimizer.decoupled_decay, 0.05);
  EXPECT_EQ(options.optimizer.weight_decay, 0);
  EXPECT_EQ(options.optimizer.decayed, OptimizerOptions::Decayed::kWeights);
}

TEST(TrainingOptions, SayHowGroupsTrain) {
  EXPECT_EQ(parse({{"epochs", "1"}}).group.members, 1U);
  const TrainingOptions options = parse({{"group.members", "auto"},
                                         {"group.most", "16"},
                                         {"group.batch_statistics", "synchronized"},
                                         {"group.sharding", "gradients"}});
  const TrainingOptions again = TrainingOptions::table().parse(TrainingOptions::table().to_config(options));
  EXPECT_EQ(again.group.members, std::nullopt);
  EXPECT_EQ(again.group.most, 16U);
  EXPECT_EQ(again.group.statistics, GroupOptions::Statistics::kSynchronized);
  EXPECT_EQ(again.group.sharding, GroupOptions::Sharding::kGradients);
  EXPECT_EQ(TrainingOptions::table()
                .parse(TrainingOptions::table().to_config(parse({{"group.members", "3"}})))
                .group.members,
            3U);
}

TEST(TrainingOptions, LetTheSizeOfAGroupBeChosenForAnyBatch) {
  EXPECT_EQ(parse({{"group.members", "auto"}, {"batch", "4"}}).batch, 4);
  EXPECT_EQ(parse({{"group.members", "auto"}, {"group.most", "64"}}).group.most, 64U);
}

TEST(TrainingOptions, SayInHowManyPartsABatchIsComputed) {
  EXPECT_EQ(parse({}).accumulate, 1);
  EXPECT_EQ(batch_text(parse({})), "32");
  const TrainingOptions options = parse({{"batch", "256"}, {"accumulate", "8"}});
  EXPECT_EQ(options.accumulate, 8);
  EXPECT_EQ(batch_text(options), "256 in 8 parts");
  const OptionTable<TrainingOptions>& keys = TrainingOptions::table();
  EXPECT_NE(to_yaml(keys.identity(keys.to_config(options))),
            to_yaml(keys.identity(keys.to_config(parse({{"batch", "256"}})))))
      << "another run";
}

TEST(TrainingOptions, NameWhatIsWrongWithPartsOfABatch) {
  EXPECT_EQ(error_of({{"accumulate", "0"}}),
            "a.yaml:3:1: training.accumulate: expected a whole number from 1 to 1000000, got 0");
  EXPECT_EQ(error_of({{"batch", "4"}, {"accumulate", "5"}}),
            "a.yaml:3:1: training.accumulate: expected at most 4, the samples of a batch, got 5");
  EXPECT_EQ(
      error_of({{"batch", "17"}, {"group.members", "4"}, {"accumulate", "5"}}),
      "a.yaml:3:1: training.accumulate: expected at most 4, the samples of a batch for each member, got 5");
  EXPECT_EQ(error_of({{"accumulate", "2"}, {"group.batch_statistics", "synchronized"}}),
            "a.yaml:3:1: training.accumulate: expected 1, since `group.batch_statistics: synchronized` "
            "normalizes by the whole batch, got 2");
  EXPECT_EQ(parse({{"batch", "16"}, {"group.members", "4"}, {"accumulate", "4"}}).accumulate, 4);
}

TEST(TrainingOptions, NameWhatIsWrongWithGroups) {
  EXPECT_THAT(error_of({{"group.members", "33"}}),
              ::testing::HasSubstr("`group.members` is 33: expected at most the batch, which is 32"));
  EXPECT_THAT(error_of({{"group.members", "0"}}),
              ::testing::HasSubstr(
                  "training.group.members: expected `auto` or a whole number from 1 to 1024, got 0"));
  EXPECT_EQ(error_of({{"group.sharding", "weights"}}),
            "a.yaml:3:1: training.group.sharding: expected `none`, `optimizer` or `gradients`, got weights");
  EXPECT_THAT(error_of({{"group.size", "2"}}), ::testing::HasSubstr("size"));
}

}  // namespace
}  // namespace skyline::train
