#pragma once

#include "skyline/core/random.hpp"
#include "skyline/trial/trial_group.hpp"

#include "engine/group/group_pieces.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace skyline::testing {

/// Every spread of the members over at most `most_ranks` ranks.
std::vector<engine::GroupPlace> spreads_of(std::size_t members, int most_ranks);

/// The values of a member for an operation: numbers of very different sizes, including denormal ones.
std::vector<float> values_of(std::uint64_t operation, std::size_t member, std::size_t count);

/// The slow, obvious sum along the tree.
template <typename T>
std::vector<T> sum_of(std::vector<std::vector<T>> terms) {
  for (std::size_t distance = 1; distance < terms.size(); distance *= 2) {
    for (std::size_t i = 0; i + distance < terms.size(); i += 2 * distance) {
      for (std::size_t k = 0; k < terms[i].size(); ++k) terms[i][k] += terms[i + distance][k];
    }
  }
  return terms[0];
}

/// All members: every operation, small and large ones, several open at once; what comes is what the plain sum
/// says, to the bit.
void expect_right_results(trial::TrialGroup& group, std::uint64_t seed);

/// All members: a few operations of each kind, and somewhere a member gives the trial up. `phase` counts the
/// places where it may, kAbortPhases of them. Every other member must be told the reason.
void expect_told_of_abort(trial::TrialGroup& group, std::size_t who, int phase);
constexpr int kAbortPhases = 5;

}  // namespace skyline::testing
