#include "search/model/cost_estimate.hpp"
#include "search/search_run.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using skyline::testing::config_from_yaml;

constexpr double kMostSize = 4000;

/// 12 x 30 models, a half of which are within the bound.
const space::SearchSpace& models() {
  static const space::SearchSpace space = space::SearchSpace::parse(
      config_from_yaml("parameters: {layers: {range: [1, 12]}, width: {range: [2, 31]}}", "a.yaml", "space"),
      {}, {}, {{"size", ConfigNode()}});
  return space;
}

double number_of(const space::Architecture& architecture, std::size_t parameter) {
  const space::Parameter& found = models().parameters()[parameter];
  return static_cast<double>(std::get<std::int64_t>(found.values[architecture.genotype.choices[parameter]]));
}

double size_of(const space::Architecture& architecture) {
  const double width = number_of(architecture, 1);
  return number_of(architecture, 0) * width * width;
}

class FakeCounter final : public CostCounter {
 public:
  std::vector<std::vector<double>> count(
      std::span<const std::shared_ptr<const space::Architecture>> architectures) override {
    if (is_stopped_) throw Stopped();
    EXPECT_LE(architectures.size(), kMostAsked);
    std::vector<std::vector<double>> counted;
    for (const auto& each : architectures) {
      asked.insert(each->id);
      counted.push_back({factor * size_of(*each)});
    }
    return counted;
  }
  void stop() override { is_stopped_ = true; }

  std::set<space::ArchId> asked;
  double factor = 1;

 private:
  std::atomic<bool> is_stopped_ = false;
};

objective::ObjectiveSet objectives_of(const std::string& constraints) {
  const ConfigNode objectives =
      config_from_yaml("[{maximize: accuracy}, {minimize: size}]", "a.yaml", "objectives");
  const ConfigNode bounds = config_from_yaml(constraints, "a.yaml", "constraints");
  return objective::ObjectiveSet::parse(
      objectives, &bounds, {{.name = "accuracy"}}, false,
      {{.name = "size", .better = trial::Better::kLower, .computed = true}});
}

trial::Outcome trained(const trial::Trial& trial) {
  const double layers = number_of(trial.architecture(), 0);
  const double width = number_of(trial.architecture(), 1);
  return trial::Measurements{.values = {1 - 1 / (1 + layers * width)}};
}

std::vector<trial::CommittedTrial> run_with(const std::shared_ptr<FakeCounter>& counter,
                                            const std::string& section, const std::string& constraints,
                                            std::string* reason = nullptr, std::size_t room = 1) {
  const auto searcher = make_searcher(config_from_yaml("{algorithm: " + section + "}", "a.yaml", "search"),
                                      models(), objectives_of(constraints), 3, {}, {}, {{}, counter});
  auto trials = skyline::testing::run_search(*searcher, trained, {.room = [room] { return room; }});
  EXPECT_TRUE(searcher->finished());
  if (reason != nullptr) *reason = searcher->finish_reason();
  return trials;
}

class AlgorithmWithCosts : public ::testing::TestWithParam<std::string> {};

TEST_P(AlgorithmWithCosts, ProposesOnlyWhatMeetsTheCountedBound) {
  const auto counter = std::make_shared<FakeCounter>();
  const auto trials = run_with(counter, GetParam(), "[size: [0, 4000]]");
  EXPECT_EQ(trials.size(), 20U);
  for (const trial::CommittedTrial& each : trials) {
    const space::Architecture& architecture = each.trial.architecture();
    EXPECT_LE(size_of(architecture), kMostSize);
    ASSERT_EQ(architecture.counted.size(), 1U);
    EXPECT_EQ(architecture.given("size"), size_of(architecture));
  }
}

TEST_P(AlgorithmWithCosts, ProposesTheSameWhateverRoomItHas) {
  const auto first = run_with(std::make_shared<FakeCounter>(), GetParam(), "[size: [0, 4000]]");
  const auto again = run_with(std::make_shared<FakeCounter>(), GetParam(), "[size: [0, 4000]]");
  ASSERT_EQ(first.size(), again.size());
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_EQ(first[i].trial.architecture().id, again[i].trial.architecture().id);
}

INSTANTIATE_TEST_SUITE_P(Costs, AlgorithmWithCosts,
                         ::testing::Values("skyline, trials: 20", "random, trials: 20",
                                           "nsga2, trials: 20, population: 6",
                                           "regularized_evolution, trials: 20, initial: 6, sample: 3",
                                           "local_search, trials: 20", "mo_bananas, trials: 20",
                                           "exhaustive, trials: 20"),
                         [](const auto& test) { return "Of" + std::to_string(test.index); });

TEST(CountedCosts, AreAskedForNoMoreThanAFewCandidatesOfATrial) {
  const auto counter = std::make_shared<FakeCounter>();
  (void)run_with(counter, "skyline, trials: 6", "[size: [0, 4000]]");
  EXPECT_LE(counter->asked.size(), 2 * CostCounter::kMostAsked);
}

TEST(CountedCosts, EndASearchOfWhichNothingMeetsTheBound) {
  std::string reason;
  for (const std::string algorithm : {"skyline", "random"}) {
    const auto counter = std::make_shared<FakeCounter>();
    counter->factor = 1e6;
    EXPECT_TRUE(run_with(counter, algorithm + ", trials: 6", "[size: [0, 100]]", &reason).empty());
    EXPECT_EQ(reason, "no architecture meets the constraints on counted costs");
  }
}

TEST(CountedCosts, AreUnknownWithoutACounterAndBreakNothing) {
  const space::Architecture architecture = models().build({{11, 29}});
  EXPECT_EQ(architecture.given("size"), std::nullopt);
  EXPECT_TRUE(objectives_of("[size: [0, 1]]").feasible(architecture));
}

/// Architectures whose costs are known, one of `step` of all.
std::vector<CandidatePointer> counted_ones(const Embedding& embedding, std::int64_t step) {
  std::vector<CandidatePointer> counted;
  for (std::int64_t number = 0; number < models().genotype_count(); number += step) {
    space::Architecture architecture = models().build(models().genotype_at(number));
    architecture.counted = {size_of(architecture)};
    counted.push_back(make_candidate(embedding, architecture, {}));
  }
  return counted;
}

double estimated_size(CostEstimate& estimate, const CandidatePointer& candidate) {
  return estimate.estimated({candidate}).front()->architecture->counted.front();
}

TEST(CostEstimate, ComesNearTheCostsOfOtherArchitectures) {
  const Embedding embedding(models(), {});
  CostEstimate estimate(embedding, 1);
  for (const CandidatePointer& one : counted_ones(embedding, 6)) estimate.add(one);
  for (const CandidatePointer& other : counted_ones(embedding, 7)) {
    const double size = size_of(*other->architecture);
    EXPECT_NEAR(estimated_size(estimate, other) / size, 1, 0.5) << size;
  }
}

/// A run that is resumed adds all at once.
TEST(CostEstimate, IsTheSameWhenAskedAfterEachOrAfterAll) {
  const Embedding embedding(models(), {});
  const std::vector<CandidatePointer> counted = counted_ones(embedding, 4);
  CostEstimate after_each(embedding, 1);
  for (std::size_t size = 1; size <= counted.size(); ++size) {
    after_each.add(counted[size - 1]);
    const double estimated = estimated_size(after_each, counted.back());
    if (size % 7 != 0) continue;
    CostEstimate after_all(embedding, 1);
    for (std::size_t i = 0; i < size; ++i) after_all.add(counted[i]);
    EXPECT_EQ(estimated, estimated_size(after_all, counted.back())) << size;
  }
}

}  // namespace
}  // namespace skyline::search
