#pragma once

#include "skyline/core/random.hpp"
#include "skyline/space/search_space.hpp"

#include "search/model/candidate_set.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace skyline::search {

/// Draws genotypes that are like the best tenth of the results and unlike the others, each parameter by
/// itself. Both groups have a density for each parameter, smooth for numbers. Of some values that are drawn
/// from the density of the best, the one is taken that is the most frequent there as compared with the
/// others. A parameter that does not matter is thus drawn as good as at random. Immutable.
/// @see Bergstra et al., Algorithms for hyper-parameter optimization, NeurIPS 2011 (TPE); densities as in
///      Optuna
class LikelyDraws {
 public:
  /// @param space   must outlive this object
  /// @param ranked  results, at least one, best first
  LikelyDraws(const space::SearchSpace& space, const Embedding& embedding,
              std::span<const CandidatePointer> ranked);

  space::Genotype draw(RandomStream& random) const;

 private:
  /// The values of a parameter in bins: of a word each has its own, of many numbers those that are near.
  struct Parameter {
    std::vector<std::uint32_t> rising;  // choices, of numbers in the order of their places
    std::vector<double> best;           // [bins], share of the best results that a bin has
    std::vector<double> quotients;      // [bins], this as compared with the share of the others
  };

  std::uint32_t likely_choice(const Parameter& parameter, RandomStream& random) const;

  const space::SearchSpace& space_;
  std::vector<Parameter> parameters_;
};

}  // namespace skyline::search
