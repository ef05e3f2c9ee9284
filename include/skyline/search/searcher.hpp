#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::search {

/// A search algorithm: one file each; knows nothing of ranks, files or time. The sequence of its proposals
/// depends on its seed and on what it was told, in order, alone: that is what makes a resume a replay.
class Searcher {
 public:
  virtual ~Searcher() = default;
  /// Up to `room` new proposals; fewer, or none, when it must be told results first or is finished.
  /// No architecture is proposed twice; every proposal meets the computed constraints.
  virtual std::vector<trial::Proposal> ask(std::size_t room) = 0;
  /// A result, in the order of trial numbers; failures too.
  virtual void tell(const trial::CommittedTrial& committed) = 0;
  /// Nothing more will ever be asked (all asked trials may not have been told yet).
  virtual bool finished() const = 0;
  /// Why it finished, one clause for the log ("5 iterations done", "all 151 valid architectures were
  /// evaluated").
  virtual std::string finish_reason() const = 0;
  /// Upper bound of the number of trials, for progress and ETA.
  virtual std::size_t expected_trials() const = 0;
};

/// The `search` section. Which keys an algorithm takes: docs/search.md.
struct SearchOptions {
  std::string algorithm = "evolution_pareto";  // evolution_pareto | random | exhaustive
  std::size_t iterations = 10;                 // evolution_pareto: generations, the initial one counted
  std::size_t initial = 10;                    // evolution_pareto: architectures of the first generation
  std::size_t max_unseen = 100;                // evolution_pareto: largest later generation
  std::size_t mutations_per_parent = 1;
  std::size_t crossovers = 5;
  std::size_t random_mix = 5;
  double mutation_probability = 0.3;
  std::optional<std::size_t> trials;  // random, exhaustive: at most this many

  /// Reads the `search` section; an empty one means the defaults.
  /// @throws UserError for an unknown algorithm, a key that the algorithm does not take, or a number out of
  /// range
  static SearchOptions parse(const ConfigNode& section);
  /// The same options as a configuration section, complete: parse(to_config()) gives them back.
  ConfigNode to_config() const;
};

/// Makes the searcher that `options.algorithm` names. It keeps copies of what it is given.
/// @throws UserError if the space holds no valid architecture (constraints too tight), found by bounded
/// sampling and, for spaces of up to 100,000 genotypes, by enumeration
std::unique_ptr<Searcher> make_searcher(const SearchOptions& options, const space::SearchSpace& space,
                                        const objective::ObjectiveSet& objectives, std::uint64_t seed);

}  // namespace skyline::search
