#include "search/surrogate/embedding.hpp"

#include "skyline/core/random.hpp"

#include "support/yaml_config.hpp"

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using Features = std::vector<space::Feature>;

/// Returns the columns of 200 architectures whose features are functions of two independent numbers.
template <typename Make>
FeatureColumns columns_of(const Make& make) {
  RandomStream random(1);
  std::vector<Sampled> sample;
  for (int i = 0; i < 200; ++i) {
    const double first = random.uniform();
    const double second = random.uniform();
    sample.push_back({nullptr, make(first, second)});
  }
  return FeatureColumns(sample);
}

TEST(FeatureColumns, LeaveOutConstantsAndRepetitions) {
  const auto columns = columns_of([](double first, double second) {
    return Features{{"a", first}, {"b", 7}, {"c", 3 - 2 * first}, {"d", second}};
  });
  EXPECT_EQ(columns.size(), 2U);
}

TEST(FeatureColumns, GiveAllCountsOfLayersTogetherTheWeightOfThreeColumns) {
  for (const int counts : {1, 5, 40}) {
    const auto columns = columns_of([&](double first, double second) {
      Features features{{"a", first}};
      for (int i = 10; i < 10 + counts; ++i)
        features.push_back({"b" + std::to_string(i), second * second + i * second * first, true});
      return features;
    });
    ASSERT_EQ(columns.size(), static_cast<std::size_t>(1 + counts));
    // Values this large are cut to three standard deviations, so they show the weights.
    Features far{{"a", 1e6}};
    for (int i = 10; i < 10 + counts; ++i) far.push_back({"b" + std::to_string(i), 1e6, true});
    const Eigen::VectorXd values = columns.values(far);
    EXPECT_NEAR(values[0], 3, 1e-9);
    EXPECT_NEAR(values.tail(counts).squaredNorm(), 3 * 9, 1e-9) << counts;
  }
}

TEST(FeatureColumns, WeighAFactThatManyCountsStateAsOneThatASingleCountStates) {
  const auto columns = columns_of([](double first, double second) {
    Features features{{"alone", second, true}};
    for (int i = 10; i < 20; ++i)  // nearly equal, so that none is left out
      features.push_back({"repeated " + std::to_string(i), first + 0.001 * i * second, true});
    return features;
  });
  ASSERT_EQ(columns.size(), 11U);
  Features far{{"alone", 1e6, true}};
  for (int i = 10; i < 20; ++i) far.push_back({"repeated " + std::to_string(i), 1e6, true});
  const Eigen::VectorXd values = columns.values(far);
  EXPECT_NEAR(values.tail(10).squaredNorm() / (values[0] * values[0]), 1, 0.1);
}

TEST(Embedding, FindsThePlacesOfManyNumbersInTheirOrderAtOnce) {
  const auto space = space::SearchSpace::parse(
      testing::config_from_yaml("parameters: {few: {choice: [8, 2, 4]}, many: {range: [0, 99999]}}", "s.yaml",
                                "space"),
      {});
  const std::clock_t before = std::clock();
  const Embedding embedding(space, {});
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 3);
  const auto place = [&](std::uint32_t few, std::uint32_t many) {
    return embedding.point(*space.try_build({{few, many}}).architecture, {}).parameters;
  };
  EXPECT_EQ(place(0, 0), (Eigen::Vector2d(1, 0)));
  EXPECT_EQ(place(1, 99'999), (Eigen::Vector2d(0, 1)));
  EXPECT_EQ(place(2, 50'000), (Eigen::Vector2d(0.5, 50'000 / 99'999.0)));
}

}  // namespace
}  // namespace skyline::search
