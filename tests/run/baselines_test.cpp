#include "run/opened_run.hpp"
#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::run {
namespace {

TEST(Baselines, AreReadBackFromARunsConfiguration) {
  const std::vector<trial::Baseline> baselines = {
      {.metric = "validation_accuracy", .samples = 288, .scored = 29, .constant = 0.1},
      {.metric = "test_mse", .samples = {}, .scored = {}, .constant = 1e-7},
      {.metric = "test_auc", .samples = {}, .scored = {}, .constant = {}}};
  ConfigNode config = testing::config_from_yaml("{data: {file: x.h5}}");
  EXPECT_TRUE(baselines_of(config).empty());
  config.set("data.yardsticks", baselines_node(baselines));
  const auto found = baselines_of(config);
  ASSERT_EQ(found.size(), 2U) << "nothing is known of the last one";
  EXPECT_EQ(found[0].metric, "validation_accuracy");
  EXPECT_EQ(found[0].samples, 288U);
  EXPECT_EQ(found[0].scored, 29U);
  EXPECT_EQ(found[0].constant, 0.1);
  EXPECT_FALSE(found[1].samples);
  EXPECT_EQ(found[1].constant, 1e-7);
  EXPECT_TRUE(baselines_node({}).is_null());
}

TEST(Baselines, OfAnotherFormAreRefused) {
  const auto error = [](const std::string& stated) {
    return testing::user_error_of(
        [&] { (void)baselines_of(testing::config_from_yaml("{data: {yardsticks: " + stated + "}}")); });
  };
  EXPECT_THAT(error("{a: {samples: 0}}"),
              ::testing::HasSubstr("data.yardsticks.a.samples: expected a whole number above 0"));
  EXPECT_THAT(error("{a: {constant: x}}"),
              ::testing::HasSubstr("data.yardsticks.a.constant: expected a number"));
  EXPECT_THAT(error("{a: 3}"), ::testing::HasSubstr("data.yardsticks.a"));
}

}  // namespace
}  // namespace skyline::run
