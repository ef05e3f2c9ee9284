#include "skyline/core/config_node.hpp"

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

}  // namespace
}  // namespace skyline
