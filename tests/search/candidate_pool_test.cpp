#include "skyline/search/candidate_pool.hpp"

#include "search/search_run.hpp"

#include <map>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using testing::objective_set;
using testing::uneven_space;

CandidatePool uneven_pool() {
  return CandidatePool(uneven_space(), objective_set("[{minimize: flops}]"));
}

/// Takes all that is left and gives it back: from then on the pool draws from its enumeration.
void enumerate(CandidatePool& pool) {
  RandomStream random(1);
  std::vector<space::ArchId> drawn;
  while (const ArchitecturePointer architecture = pool.draw(random)) drawn.push_back(architecture->id);
  for (const space::ArchId id : drawn) pool.unmark_proposed(id);
}

/// How often each architecture is drawn of 4000 times.
std::map<space::ArchId, double> shares_of_draws(CandidatePool& pool) {
  constexpr int kDraws = 4000;
  RandomStream random(2);
  std::map<space::ArchId, double> shares;
  for (int i = 0; i < kDraws; ++i) {
    const space::ArchId id = pool.draw(random)->id;
    pool.unmark_proposed(id);
    shares[id] += 1.0 / kDraws;
  }
  return shares;
}

TEST(CandidatePool, DrawsAsTheSpaceSamplesAlsoFromItsEnumeration) {
  CandidatePool pool = uneven_pool();
  const std::map<space::ArchId, double> sampled = shares_of_draws(pool);
  enumerate(pool);
  const std::map<space::ArchId, double> enumerated = shares_of_draws(pool);

  // Among the genotypes that can be built, those without a block have 3/5 of the chance, and each kernel 1/5,
  // 1 : 3 by width.
  std::map<space::ArchId, double> expected;
  for (std::int64_t number = 0; number < 12; ++number) {
    const space::Genotype genotype = uneven_space().genotype_at(number);
    const ArchitecturePointer architecture = pool.candidate(genotype);
    if (architecture != nullptr) expected[architecture->id] += (genotype.choices[2] == 0 ? 0.25 : 0.75) / 5;
  }
  ASSERT_EQ(expected.size(), 5U);
  for (const auto& [id, share] : expected) {
    EXPECT_NEAR(sampled.at(id), share, 0.04);
    EXPECT_NEAR(enumerated.at(id), share, 0.04);
  }
}

TEST(CandidatePool, RefusesWhatWasTakenUntilItIsReleased) {
  CandidatePool pool = uneven_pool();
  const space::Genotype genotype = uneven_space().genotype_at(0);
  const ArchitecturePointer architecture = pool.candidate(genotype);
  ASSERT_NE(architecture, nullptr);
  pool.mark_proposed(architecture->id);
  EXPECT_EQ(pool.candidate(genotype), nullptr);
  EXPECT_EQ(pool.candidate(uneven_space().genotype_at(1)), nullptr) << "another genotype of the same network";
  pool.unmark_proposed(architecture->id);
  EXPECT_NE(pool.candidate(genotype), nullptr);
}

TEST(CandidatePool, RefusesNetworksThatCannotBeBuiltOrBreakAConstraint) {
  const CandidatePool pool(uneven_space(), objective_set("[{minimize: flops}]", "[{parameters: [0, 30]}]"));
  EXPECT_NE(pool.candidate({{0, 0, 0}}), nullptr);
  EXPECT_EQ(pool.candidate({{1, 2, 0}}), nullptr);
  EXPECT_EQ(pool.candidate({{1, 1, 1}}), nullptr);
}

space::SearchSpace three_widths() {
  return space::SearchSpace::parse(skyline::testing::config_from_yaml(R"(
parameters:
  a: {range: [1, 300]}
  b: {range: [1, 300]}
  c: {range: [1, 300]}
network:
  - conv2d: {channels: $a, kernel: 1}
  - conv2d: {channels: $b, kernel: 1}
  - conv2d: {channels: $c, kernel: 1}
  - global_average_pool
  - linear: {features: $classes}
)",
                                                                      "space.yaml", "space"),
                                   {{1, 28, 28}, 10});
}

// The first directed search finds nothing there, and the one that is to tell why finds an architecture.
TEST(CandidatePool, RefusesNoSpaceOfWhichItFindsAnArchitecture) {
  const auto objectives = objective_set("[{minimize: flops}]", "[{parameters: [34564, 34564]}]");
  CandidatePool pool(three_widths(), objectives);
  RandomStream random(1);
  const ArchitecturePointer drawn = pool.draw(random);
  ASSERT_NE(drawn, nullptr);
  EXPECT_EQ(drawn->cost.parameters, 34564);
}

TEST(CandidatePool, DrawsEachCandidateOnceThenNothing) {
  CandidatePool pool = uneven_pool();
  RandomStream random(1);
  std::map<space::ArchId, int> drawn;
  while (const ArchitecturePointer architecture = pool.draw(random)) ++drawn[architecture->id];
  EXPECT_EQ(drawn.size(), 5U);
  for (const auto& [id, times] : drawn) EXPECT_EQ(times, 1);
  EXPECT_EQ(pool.exhaustion_reason(), "all 5 valid architectures were evaluated");
}

}  // namespace
}  // namespace skyline::search
