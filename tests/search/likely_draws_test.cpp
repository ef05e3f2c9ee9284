#include "search/model/likely_draws.hpp"

#include "skyline/core/random.hpp"

#include "search/search_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using skyline::testing::config_from_yaml;

/// A space of parameters alone, and results in it that are ranked by a function.
class LikelyDrawsIn {
 public:
  explicit LikelyDrawsIn(const std::string& parameters)
      : space_(space::SearchSpace::parse(
            config_from_yaml("parameters: {" + parameters + "}", "space.yaml", "space"), {})),
        embedding_(space_, {}) {}

  template <typename Value>
  void rank(std::size_t count, const Value& value) {
    RandomStream random(1);
    for (std::size_t i = 0; i < count; ++i)
      ranked_.push_back(make_candidate(embedding_, space_.build(space_.sample(random)), {}));
    std::ranges::stable_sort(
        ranked_, {}, [&](const CandidatePointer& one) { return value(one->architecture->genotype.choices); });
  }
  std::vector<space::Architecture> draw(int count) const {
    const LikelyDraws draws(space_, embedding_, ranked_);
    RandomStream random(2);
    std::vector<space::Architecture> drawn;
    for (int i = 0; i < count; ++i) drawn.push_back(space_.build(draws.draw(random)));
    return drawn;
  }

 private:
  space::SearchSpace space_;
  Embedding embedding_;
  std::vector<CandidatePointer> ranked_;
};

using Choices = std::vector<std::uint32_t>;

template <typename Condition>
double share(const std::vector<space::Architecture>& drawn, const Condition& condition) {
  const auto count = std::ranges::count_if(
      drawn, [&](const space::Architecture& one) { return condition(one.genotype.choices); });
  return static_cast<double>(count) / static_cast<double>(drawn.size());
}

TEST(LikelyDraws, HaveWhatTheBestResultsHaveAndTheOthersHaveNot) {
  LikelyDrawsIn space("a: {range: [0, 100]}, idle: {range: [0, 100]}, word: {choice: [x, y, z]}");
  space.rank(60, [](const Choices& choices) {
    return std::abs(static_cast<double>(choices[0]) - 20) + (choices[2] == 1 ? 0 : 30);
  });
  const auto drawn = space.draw(200);
  EXPECT_GT(share(drawn, [](const Choices& choices) { return choices[0] > 5 && choices[0] < 35; }), 0.8)
      << "of 101 values";
  EXPECT_GT(share(drawn, [](const Choices& choices) { return choices[2] == 1; }), 0.8);
  for (const bool is_low : {false, true})
    EXPECT_GT(share(drawn, [&](const Choices& choices) { return (choices[1] < 50) == is_low; }), 0.15);
}

TEST(LikelyDraws, AreNearTheBestValueWhicheverOrderTheValuesHave) {
  LikelyDrawsIn space("a: {choice: [8, 1, 6, 3, 5, 4, 7, 2, 9]}");
  space.rank(9, [](const Choices& choices) { return choices[0] == 0 ? 0 : 1; });  // the value is 8
  const auto drawn = space.draw(200);
  const double near = share(drawn, [](const Choices& choices) { return choices[0] == 6 || choices[0] == 8; });
  const double far = share(drawn, [](const Choices& choices) { return choices[0] == 1 || choices[0] == 7; });
  EXPECT_GT(near, far + 0.05) << "7 and 9 are nearer than 1 and 2";
}

TEST(LikelyDraws, ReachAllValuesOfALongRange) {
  LikelyDrawsIn space("a: {range: [1, 20000]}");
  space.rank(3, [](const Choices& choices) { return choices[0]; });
  std::set<std::uint32_t> values;
  for (const space::Architecture& one : space.draw(400)) values.insert(one.genotype.choices[0]);
  EXPECT_GT(values.size(), 300) << "more than there are bins";
}

TEST(LikelyDraws, OneResultIsEnough) {
  LikelyDrawsIn space("a: {range: [0, 1, 0.5]}, word: {choice: [x, y]}");
  space.rank(1, [](const Choices&) { return 0; });
  EXPECT_EQ(space.draw(50).size(), 50);
}

TEST(LikelyDraws, OfAParameterCountTheResultsThatUseIt) {
  LikelyDrawsIn space("word: {choice: [x, y]}, a: {range: [0, 100], when: $word == y}");
  space.rank(80, [](const Choices& choices) {
    return choices[0] == 0 ? 100.0 : std::abs(static_cast<double>(choices[1]) - 80);
  });
  const auto drawn = space.draw(200);
  EXPECT_GT(
      share(drawn,
            [](const Choices& choices) { return choices[0] == 1 && choices[1] > 65 && choices[1] < 95; }),
      0.7);
}

/// How far eight numbers are from the best ones, by plateaus as limits of trees have them.
trial::Outcome plateaus(const trial::Trial& trial) {
  constexpr std::array<double, 8> kBest{30, 70, 50, 15, 90, 0, 0, 0};
  constexpr std::array<double, 8> kWeights{3, 2, 1, 1, 0.5, 0, 0, 0};
  const std::vector<std::uint32_t>& choices = trial.architecture().genotype.choices;
  double sum = 0;
  for (std::size_t i = 0; i < kBest.size(); ++i)
    sum += kWeights[i] * std::round(std::abs(choices[i] - kBest[i]) / 12.5) / 8;
  return trial::Measurements{{-sum, 1}};
}

TEST(LikelyDraws, LetASearchLeavePlateausSoonWhereThereIsNoNetwork) {
  std::string parameters;
  for (const char name : std::string("abcdefgh"))
    parameters += std::string(1, name) + ": {range: [0, 100]}, ";
  const auto space = space::SearchSpace::parse(
      config_from_yaml("parameters: {" + parameters + "}", "space.yaml", "space"), {});
  const auto objectives = testing::objective_set("[{maximize: accuracy}]");
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const ConfigNode section = config_from_yaml("{algorithm: skyline, trials: 20}", "run.yaml", "search");
    testing::WindowedRun run(make_searcher(section, space, objectives, seed), 1, plateaus);
    double best = -100;
    for (const trial::CommittedTrial& trial : run.run(20))
      best = std::max(best, std::get<trial::Measurements>(trial.outcome).values[0]);
    sum -= best;
  }
  EXPECT_LT(sum / 10, 0.5) << "0.41; without draws in the likeness of the best trials 0.63";
}

}  // namespace
}  // namespace skyline::search
