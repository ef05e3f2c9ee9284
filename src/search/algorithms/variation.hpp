#pragma once

#include "skyline/core/random.hpp"
#include "skyline/search/candidate_pool.hpp"
#include "skyline/search/pareto.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace skyline::search {

/// A committed trial that may have children.
struct Parent {
  trial::TrialNumber number = 0;
  ArchitecturePointer architecture;
};

/// The trials on the front of all results so far.
class ParentPool {
 public:
  explicit ParentPool(const objective::ObjectiveSet& objectives);

  /// Takes a result. A trial is a parent as long as it is on the front.
  void tell(const trial::CommittedTrial& committed);
  /// Returns the parents in the order of their numbers.
  const std::vector<Parent>& all() const { return parents_; }

 private:
  const objective::ObjectiveSet& objectives_;
  ParetoArchive front_;  // front of trial numbers
  std::vector<Parent> parents_;
};

/// The operators that make children of parents. A child is a candidate of the pool, and marked as proposed.
/// Deterministic.
class VariationOperators {
 public:
  static constexpr int kMutationTries = 20;
  static constexpr int kCrossoverTries = 30;

  /// @param pool  must outlive this object
  /// @param mutation_probability  probability that a used parameter of a parent changes
  VariationOperators(CandidatePool& pool, double mutation_probability)
      : pool_(pool), mutation_probability_(mutation_probability) {}

  /// Returns a mutant; nullopt if no try gave a new architecture.
  std::optional<trial::Proposal> mutant(const Parent& parent, std::size_t iteration, RandomStream& random);
  /// Returns a child of two random parents; nullopt if no try gave a new architecture. @pre there are two
  std::optional<trial::Proposal> crossover(std::span<const Parent> parents, std::size_t iteration,
                                           RandomStream& random);
  /// Returns the proposal of a child with this genotype; nullopt unless it is a new architecture.
  std::optional<trial::Proposal> child(const std::optional<space::Genotype>& genotype, trial::Origin origin,
                                       std::vector<trial::TrialNumber> parents, std::size_t iteration);

 private:
  CandidatePool& pool_;
  double mutation_probability_;
};

}  // namespace skyline::search
