#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace skyline::app {

/// What became of genotypes.
struct GenotypeTally {
  struct Unbuildable {
    std::int64_t count = 0;
    std::string example;
  };
  std::int64_t seen = 0;
  std::int64_t valid = 0;
  /// Sums over all of them, and over the valid ones, of 1 / the number of genotypes that agree in all
  /// parameters which the network used.
  long double networks = 0;
  long double valid_networks = 0;
  std::map<std::string, std::int64_t> broken;      // constraints, by the number of networks that break them
  std::map<std::string, Unbuildable> unbuildable;  // by the place that the error names

  /// @param times  how often the other ones stand for genotypes
  void add(const GenotypeTally& other, std::int64_t times);
};

/// What a space holds: of all genotypes where they are counted, else of random ones.
struct SpaceSurvey {
  struct CostRange {
    double least = 0;
    double most = 0;
  };
  std::int64_t genotypes = 0;  // at most 2^63 - 1
  double log10_genotypes = 0;
  bool all = false;  // every genotype was counted
  GenotypeTally tally;
  std::set<space::ArchId> architectures;   // of the valid ones
  std::map<std::string, CostRange> costs;  // of the valid ones, by computed metric
};

/// Random genotypes are drawn uniformly, without the weights of the space.
/// @param count  however long that takes, which is said on standard error; else what takes longer than about
///               a second is estimated
SpaceSurvey survey(const space::SearchSpace& space, const objective::ObjectiveSet& objectives, bool count);
/// A few lines for people, each with "# space: " in front.
std::string to_text(const SpaceSurvey& survey);

}  // namespace skyline::app
