#pragma once

#include "skyline/core/random.hpp"
#include "skyline/search/candidate_pool.hpp"
#include "skyline/search/pareto.hpp"

#include <cstddef>
#include <map>
#include <optional>

namespace skyline::search {

/// The parents of an evolution, which are all trials on the front so far, and the operators that make
/// children of them. A child is a candidate of the pool, and taken from it. Deterministic.
class Breeding {
 public:
  static constexpr int kMutationTries = 20;
  static constexpr int kCrossoverTries = 30;

  /// @param pool  must outlive this object
  /// @param mutation_probability  probability that a used parameter of a parent changes
  Breeding(CandidatePool& pool, double mutation_probability);

  /// Takes a result. A trial is a parent as long as it is on the front.
  void tell(const trial::CommittedTrial& committed);
  std::size_t parents() const { return parents_.size(); }

  /// Returns a mutant of a parent, counted from the oldest; nullopt if no try gave a new architecture.
  std::optional<trial::Proposal> mutant(std::size_t parent, std::size_t iteration, RandomStream& random);
  /// Returns a child of two random parents; nullopt if no try gave a new architecture. @pre there are two
  std::optional<trial::Proposal> crossover(std::size_t iteration, RandomStream& random);

 private:
  using Parents = std::map<trial::TrialNumber, ArchitecturePointer>;

  const Parents::value_type& parent(std::size_t place) const;
  std::optional<trial::Proposal> child(const std::optional<space::Genotype>& genotype, trial::Origin origin,
                                       std::vector<trial::TrialNumber> parents, std::size_t iteration);

  CandidatePool& pool_;
  double mutation_probability_;
  ParetoArchive front_;  // front of trial numbers
  Parents parents_;      // the trials on the front
};

}  // namespace skyline::search
