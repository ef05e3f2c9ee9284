#pragma once

#include "skyline/core/random.hpp"
#include "skyline/search/candidate_pool.hpp"
#include "skyline/search/pareto.hpp"

#include <cstddef>
#include <map>
#include <optional>

namespace skyline::search {

/// The parents of an evolution, all trials on the front so far, and the operators that make children of them.
/// A child is a candidate of the pool, and taken from it. Deterministic.
class Breeding {
 public:
  static constexpr int kMutationTries = 20;
  static constexpr int kCrossoverTries = 30;

  /// @param pool  outlives this
  /// @param mutation_probability  of each used parameter of a parent to change
  Breeding(CandidatePool& pool, double mutation_probability);

  /// A trial is a parent as long as it is on the front.
  void tell(const trial::CommittedTrial& committed);
  std::size_t parents() const { return parents_.size(); }

  /// A mutant of a parent, counted from the oldest; nothing if all tries gave nothing new.
  std::optional<trial::Proposal> mutant(std::size_t parent, std::size_t iteration, RandomStream& random);
  /// A child of two random parents, likewise. @pre there are two
  std::optional<trial::Proposal> crossover(std::size_t iteration, RandomStream& random);

 private:
  using Parents = std::map<trial::TrialNumber, ArchitecturePointer>;

  const Parents::value_type& parent(std::size_t place) const;
  std::optional<trial::Proposal> child(const std::optional<space::Genotype>& genotype, trial::Origin origin,
                                       std::vector<trial::TrialNumber> parents, std::size_t iteration);

  CandidatePool& pool_;
  double mutation_probability_;
  ParetoArchive front_;  // of trial numbers
  Parents parents_;      // those on the front
};

}  // namespace skyline::search
