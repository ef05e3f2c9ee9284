#pragma once

#include "skyline/search/searcher.hpp"

#include "search/candidate_pool.hpp"
#include "search/pareto/pareto.hpp"

#include <map>

namespace skyline::search {

/// Evolution of the Pareto front, generation by generation. The parents of a generation are the whole front
/// of all results so far; each gives mutants, random pairs of them give crossovers, and random samples keep
/// the search open. A generation is bred when it is asked for and all of the last one was told.
///
/// The steps and defaults are those of Archai's EvolutionPareto. Unlike there, nothing is proposed twice,
/// redraws replace copies, failed trials are never parents, and an exhausted space ends the search.
/// @see Archai, archai/discrete_search/algos/evolution_pareto.py (v1.0.0)
class EvolutionPareto final : public Searcher {
 public:
  static constexpr int kMutationTries = 20;   // for each wanted mutant
  static constexpr int kCrossoverTries = 30;  // for each wanted crossover

  EvolutionPareto(const SearchOptions& options, const space::SearchSpace& space,
                  const objective::ObjectiveSet& objectives, std::uint64_t seed);

  std::vector<trial::Proposal> ask(std::size_t room) override;
  void tell(const trial::CommittedTrial& committed) override;
  bool finished() const override;
  std::string finish_reason() const override;
  std::size_t expected_trials() const override;

 private:
  using Generation = std::vector<trial::Proposal>;

  RandomStream stream(std::string_view purpose) const;
  void breed();
  Generation later_generation();
  void add_mutants(Generation& generation);
  void add_crossovers(Generation& generation);
  void add_samples(Generation& generation, trial::Origin origin, std::size_t count, std::string_view purpose);
  bool add(Generation& generation, const space::Genotype& child, trial::Origin origin,
           std::vector<trial::TrialNumber> parents);

  SearchOptions options_;
  std::uint64_t seed_;
  CandidatePool pool_;
  ParetoArchive front_;                                        // of trial numbers
  std::map<trial::TrialNumber, ArchitecturePointer> parents_;  // those on the front
  Generation generation_;
  std::size_t iteration_ = 0;   // of generation_
  std::size_t handed_out_ = 0;  // of generation_
  std::size_t untold_ = 0;      // handed out and not told yet
  std::size_t asked_ = 0;       // in all generations
  bool exhausted_ = false;
};

}  // namespace skyline::search
