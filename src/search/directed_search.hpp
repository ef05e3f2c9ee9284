#pragma once

#include "skyline/core/random.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/search/candidate_pool.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace skyline::search {

/// Searches for architectures that meet constraints which few of the space meet. It starts from random ones
/// and goes downhill in their excess over the bounds, one parameter at a time, and then walks among those
/// within the bounds. A network that cannot be built is the farther from the bounds the sooner its building
/// fails. Deterministic: it is bounded by the work done, not by time.
class DirectedSearch {
 public:
  /// Limits for the networks that it builds, and for their layers.
  static constexpr std::size_t kMostNetworks = 18'000;
  static constexpr std::size_t kMostLayers = 2'000'000;

  using TryBuild = std::function<space::BuildAttempt(const space::Genotype& genotype)>;
  /// @param try_build  tries to build an architecture
  DirectedSearch(const space::SearchSpace& space, const objective::ObjectiveSet& objectives,
                 TryBuild try_build, std::size_t most_networks = kMostNetworks)
      : space_(space),
        objectives_(objectives),
        try_build_(std::move(try_build)),
        most_networks_(most_networks) {}

  /// Runs the search. Returns nullptr if it found none.
  /// @param accept  returns whether a valid architecture is wanted
  ArchitecturePointer run(RandomStream& random,
                          const std::function<bool(const space::Architecture& found)>& accept);

 private:
  struct Point {
    space::Genotype genotype;
    ArchitecturePointer architecture;  // nullptr if it cannot be built
    std::vector<bool> reads;           // parameters on which that depends
    double excess = 0;                 // excess over the bounds; 0 if it meets the constraints
  };

  bool is_over() const { return networks_ >= most_networks_ || layers_ >= kMostLayers; }
  Point evaluate(space::Genotype genotype);
  double excess_of(const space::Architecture& architecture) const;
  bool is_open(const Point& point, std::size_t parameter) const;
  bool improve(Point& point, std::size_t parameter, RandomStream& random);
  void descend(Point& point, RandomStream& random);
  Point neighbour(const Point& point, RandomStream& random);

  const space::SearchSpace& space_;
  const objective::ObjectiveSet& objectives_;
  TryBuild try_build_;
  std::size_t most_networks_;
  std::size_t networks_ = 0;
  std::size_t layers_ = 0;
};

}  // namespace skyline::search
