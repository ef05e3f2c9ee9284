#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace skyline::app {

/// What a space holds: of all genotypes where they are counted within a second, else of random ones.
struct SpaceSurvey {
  struct CostRange {
    double least = 0;
    double most = 0;
  };
  std::int64_t genotypes = 0;  // at most 2^63 - 1
  double log10_genotypes = 0;
  std::size_t seen = 0;
  bool all = false;  // every genotype was seen
  std::size_t valid = 0;
  std::set<space::ArchId> architectures;      // of the valid ones
  std::map<std::string, std::size_t> broken;  // constraints, by the number of networks that break them
  struct Unbuildable {
    std::size_t count = 0;
    std::string example;
  };
  std::map<std::string, Unbuildable> unbuildable;  // by the place that the error names
  std::map<std::string, CostRange> costs;          // of the valid ones, by computed metric
};

/// Takes about a second. Random genotypes are drawn uniformly, without the weights of the space.
SpaceSurvey survey(const space::SearchSpace& space, const objective::ObjectiveSet& objectives);
/// A few lines for people, each with "# space: " in front.
std::string to_text(const SpaceSurvey& survey);

}  // namespace skyline::app
