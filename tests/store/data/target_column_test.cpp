#include "skyline/core/error.hpp"

#include "store/arrays/preparation.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace skyline::store {
namespace {

Preparation with_targets(const std::string& targets) {
  return read_preparation(R"({"has_names":true,"features":[{"column":"a"}],"targets":[)" + targets + "]}");
}

TEST(TargetColumn, KeepsItsTransformInThePreparation) {
  const std::string text = R"({"column":"price","mean":2.0,"deviation":0.5,"transform":"log"})";
  const Preparation read = with_targets(text);
  EXPECT_EQ(read.targets.at(0).transform, TargetColumn::Transform::kLog);
  EXPECT_EQ(read.targets.at(0).mean, 2);
  EXPECT_EQ(read.targets.at(0).deviation, 0.5);
  EXPECT_EQ(with_targets(R"({"column":"price","transform":"log1p"})").targets.at(0).transform,
            TargetColumn::Transform::kLog1p);
  EXPECT_EQ(with_targets(R"({"column":"price"})").targets.at(0).transform, TargetColumn::Transform::kNone);
}

TEST(TargetColumn, RefusesOtherTransformsAndSeveral) {
  for (const char* targets :
       {R"({"column":"price","transform":"sqrt"})", R"({"column":"price","transform":""})",
        R"({"column":"price","transform":2})", R"({"column":"price","deviation":0})",
        R"({"column":"price","transform":"log"},{"column":"rent"})",
        R"({"column":"price","transform":"log"},{"column":"rent","transform":"log1p"})"}) {
    EXPECT_THROW(with_targets(targets), UserError) << targets;
  }
}

TEST(TargetColumn, StoresNumbersAndGivesThemBack) {
  using Transform = TargetColumn::Transform;
  for (const Transform transform : {Transform::kNone, Transform::kLog, Transform::kLog1p}) {
    const TargetColumn column{"price", 3, 0.25, transform};
    for (const double number : {0.001, 1.0, 12.5, 1e6})
      EXPECT_NEAR(column.number(column.stored(number)) / number, 1, 1e-9);
  }
  const TargetColumn log{"price", 2, 0.5, Transform::kLog};
  EXPECT_NEAR(log.stored(std::exp(3)), 2, 1e-12);
  EXPECT_FALSE(std::isfinite(log.stored(0)));
  EXPECT_TRUE(std::isnan(log.stored(-1)));
  EXPECT_EQ((TargetColumn{"price", 0, 1, Transform::kLog1p}.stored(0)), 0);
}

}  // namespace
}  // namespace skyline::store
