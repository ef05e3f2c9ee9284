#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "core/config/foreign_words.hpp"

#include <sstream>

#include <gtest/gtest.h>

namespace skyline {
namespace {

const std::vector<std::string> kKinds{"conv2d", "batch_norm", "relu", "max_pool"};

TEST(NearestWord, FindsLikelyMisspellings) {
  EXPECT_EQ(nearest_word("conv", kKinds), "conv2d");
  EXPECT_EQ(nearest_word("batchnorm", kKinds), "batch_norm");
  EXPECT_EQ(nearest_word("ReLU", kKinds), "relu");
  EXPECT_EQ(nearest_word("rleu", kKinds), "relu");
  EXPECT_EQ(nearest_word("max-pool", kKinds), "max_pool");
}

TEST(NearestWord, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest_word("transformer", kKinds), "");
  EXPECT_EQ(nearest_word("x", {"y"}), "");
  EXPECT_EQ(nearest_word("ab", {"cd"}), "");
  EXPECT_EQ(nearest_word("anything", {}), "");
}

TEST(NearestWord, FindsAWordByItsBeginning) {
  EXPECT_EQ(nearest_word("evolution", {"random", "evolution_pareto", "evolution_of_all"}),
            "evolution_pareto");
  EXPECT_EQ(nearest_word("Exhau", {"random", "exhaustive"}), "exhaustive");
  EXPECT_EQ(nearest_word("ex", {"random", "exhaustive"}), "") << "too short to mean one of them";
  EXPECT_EQ(nearest_word("", {"random", "exhaustive"}), "");
}

TEST(NearestWord, FindsAWordByItsLastPart) {
  EXPECT_EQ(nearest_word("accuracy", {"flops", "validation_accuracy"}), "validation_accuracy");
  EXPECT_EQ(nearest_word("Rate", {"momentum", "learning_rate"}), "learning_rate");
  EXPECT_EQ(nearest_word("acuracy", {"flops", "validation_accuracy"}), "validation_accuracy");
  EXPECT_EQ(nearest_word("curacy", {"flops", "validation_accuracy"}), "") << "no part of its own";
  EXPECT_EQ(nearest_word("accuracy", {"flops", "validation_top5_accuracy"}), "") << "another metric";
}

TEST(NearestWord, NeverTakesTheNameOfOneMethodForAnother) {
  EXPECT_EQ(nearest_word("nadam", {"adam", "sgd"}), "");
  EXPECT_EQ(nearest_word("AdamW", {"adam", "sgd"}), "");
  EXPECT_EQ(nearest_word("AdamW", {"adam", "adamw"}), "adamw");
  EXPECT_EQ(nearest_word("avg_pool", kKinds), "");
  EXPECT_EQ(nearest_word("conv3d", kKinds), "");
  EXPECT_EQ(nearest_word("selu", {"relu", "silu"}), "");
  EXPECT_EQ(nearest_word("validation_rmse", {"validation_mse"}), "");
  EXPECT_EQ(nearest_word("validation_mes", {"validation_mse"}), "validation_mse");
  EXPECT_EQ(nearest_word("adm", {"adam", "sgd"}), "adam");
}

TEST(NearestWord, TakesTheNearestAndTheFirstOfEquals) {
  EXPECT_EQ(nearest_word("with", {"width", "witch", "height"}), "width");
  EXPECT_EQ(nearest_word("epoch", {"epocha", "epochs"}), "epocha");
}

TEST(Suggestion, AnswersWordsOfOtherProgramsWithTheKeyOrTheSentenceThatHelps) {
  const std::vector<std::string> training{"epochs", "batch", "accumulate", "optimizer", "loss"};
  const std::string in_optimizer =
      "the optimizer has it, as in `training: {optimizer: {adam: {learning_rate: 0.001}}}`";
  for (const std::string word : {"lr", "learning_rate", "weight_decay"}) {
    EXPECT_EQ(suggestion(word, training), in_optimizer) << word;
  }
  EXPECT_EQ(suggestion("batch_size", training), "Keras' batch_size is `training.batch` here");
  EXPECT_EQ(suggestion("lr", {"learning_rate", "momentum"}), "did you mean `learning_rate`?");
  EXPECT_EQ(suggestion("rotation", {"crop", "cutout", "flip", "saturation"}),
            "images are not rotated; `crop` and `flip` move them");
  for (const std::string word : {"upsample", "transposed_conv", "ConvTranspose2d", "deconv2d"}) {
    EXPECT_EQ(
        suggestion(word, kKinds),
        "a network has one input and one output, of classes, labels or numbers; there are no layers for "
        "segmentation")
        << word;
  }
  EXPECT_EQ(suggestion("outputs", {"branch", "merge", "name", "from", "when"}),
            "a network has one input and one output");
}

TEST(Suggestion, KnowsAWordOfAnotherToolInAnySpellingAndShowsThatOfTheTool) {
  const std::vector<std::string> search{"algorithm", "iterations", "initial", "breed"};
  for (const std::string word : {"num_iters", "numIters", "--num-iters"}) {
    EXPECT_EQ(suggestion(word, search),
              "Archai's num_iters is `search.iterations` here, with `search.algorithm: evolution_pareto`");
  }
  EXPECT_EQ(suggestion("seed", search), "the key is `run.seed`");
  EXPECT_EQ(suggestion("fp16", {"threads", "precision"}),
            "Transformers' fp16 is `training.precision: bf16` here");
}

TEST(Suggestion, GivesNoHintWhereItsWordMeansSomethingElse) {
  EXPECT_EQ(suggestion("outputs", {"cell", "operations", "output"}), "did you mean `output`?");
  EXPECT_EQ(suggestion("up_sample", {"conv2d", "upsample"}), "did you mean `upsample`?");
  EXPECT_EQ(suggestion("lr", {"crop", "mixup"}), "known here: crop, mixup");
  EXPECT_EQ(suggestion("num_epochs", {"--epochs", "--help"}), "the option is `--epochs`");
}

TEST(Suggestion, TakesNoNameOfAUserForThePlaceOfAWordOfAnotherTool) {
  const std::vector<std::string> parameters{"normalization", "batch"};
  EXPECT_EQ(suggestion("batch_size", parameters), "Keras' batch_size is `training.batch` here");
  EXPECT_EQ(suggestion("batch_size", parameters, NamesOf::kUser), "known here: normalization, batch");
  EXPECT_EQ(suggestion("batches", parameters, NamesOf::kUser), "did you mean `batch`?");
}

TEST(Suggestion, AnswersAMetricByOneThatIsKnown) {
  EXPECT_EQ(suggestion("num_params", {"flops", "parameters"}, NamesOf::kMetrics), "it is `parameters` here");
  EXPECT_EQ(suggestion("num_params", {"acc", "flops"}, NamesOf::kMetrics), "known here: acc, flops");
  EXPECT_EQ(suggestion("name", {"refit", "time_limit"}, NamesOf::kMetrics), "known here: refit, time_limit");
  EXPECT_EQ(suggestion("val_loss", {"validation_accuracy", "ValLoss"}, NamesOf::kMetrics),
            "did you mean `ValLoss`?");
}

TEST(Suggestion, LeavesTrainingToTheTrainerInTheSectionCommand) {
  const std::vector<std::string> command{"run", "framework", "metrics", "device"};
  const std::string answer =
      "a trainer of yours reads it: an argument of `command.run`, or one of `space.parameters`";
  for (const std::string word : {"lr_scheduler", "batch_size", "fp16", "max_grad_norm"}) {
    EXPECT_EQ(suggestion(word, command), answer) << word;
  }
  EXPECT_EQ(
      suggestion("gpus", command),
      "Lightning's gpus is `command.device` here, of which a rank has one; a trial has several processes by "
      "`command.processes`");
}

TEST(Suggestion, AnswersAValueByTheKeyThatItIsOf) {
  ConfigNode root = load_yaml_text("training: {precision: fp16, framework: deepspeed}", "a.yaml");
  root.assign_paths();
  const auto text_of = [&](const char* key) {
    try {
      root.at("training").at(key).fail_expected("another");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(text_of("precision"),
            "a.yaml:1:23: training.precision: expected another, got fp16, Transformers' fp16 is "
            "`training.precision: bf16` here");
  EXPECT_EQ(text_of("framework"), "a.yaml:1:40: training.framework: expected another, got deepspeed");
}

TEST(ForeignWords, AreEachAnsweredByTheirEntrySomewhere) {
  for (const ForeignWords& entry : foreign_words()) {
    std::istringstream words{std::string(entry.words)};
    for (std::string word; words >> word;) {
      std::istringstream marks{std::string(entry.place.marks)};
      bool is_answered = false;
      for (std::string mark; marks >> mark;) {
        is_answered = is_answered || foreign_answer(word, {mark}) == answer_to(word, entry);
      }
      EXPECT_TRUE(is_answered) << word << " at " << entry.place.name << ": an earlier entry takes all of it";
    }
  }
}

}  // namespace
}  // namespace skyline
