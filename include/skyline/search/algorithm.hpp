#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/search/searcher.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::search {

/// The task of an algorithm. The references are only valid during the call that gets them.
struct SearchProblem {
  const space::SearchSpace& space;
  const objective::ObjectiveSet& objectives;
  std::uint64_t seed = 0;
  trial::Budget budget = {};  // budget of every proposal, unless the algorithm chooses budgets itself
};

/// A search algorithm that a configuration can name: `search: {algorithm: NAME, ...}`.
struct Algorithm {
  std::string name;
  std::string meaning;  // one sentence for the docs
  std::shared_ptr<const KeyTable> keys;
  /// @param section  already checked against `keys`
  std::function<std::unique_ptr<Searcher>(const ConfigNode& section, const SearchProblem& problem)> make;
  /// Whether `final` trains all successful trials of the search instead of only its front.
  bool trains_all = false;
  /// Whether its proposals depend on the box of volumes (`reference`, `ideal`, `scale`), which is then a part
  /// of the run.
  bool aims_at_volumes = false;
  /// Returns the folder of the run from which the results of the search come, or an empty text if they are
  /// measured here. If it names a run, the program that begins this run writes these results into its journal
  /// (`skyline train` does), and `skyline search` refuses to begin it.
  /// @param section  complete
  std::function<std::string(const ConfigNode& section)> source_run = [](const ConfigNode&) {
    return std::string();
  };
  /// The setting with which the search uses the results that exist, instead of waiting for a generation:
  /// "search.KEY: VALUE", for messages. Empty if there is none.
  std::string steady_setting = {};
  /// `run.window` of runs that state none; without a value, a generation at a time.
  std::optional<std::size_t> window = {};
};

/// Describes an algorithm whose searcher is constructed from its options and the problem.
template <typename AnySearcher, typename Options>
Algorithm make_algorithm(const std::string& name, const std::string& meaning,
                         const OptionTable<Options>& table) {
  const auto keys = std::make_shared<const OptionTable<Options>>(table.tagged("algorithm", name, meaning));
  Algorithm algorithm{.name = name, .meaning = meaning, .keys = keys, .make = {}};
  algorithm.make = [keys](const ConfigNode& section, const SearchProblem& problem) {
    return std::make_unique<AnySearcher>(keys->parse(section), problem);
  };
  return algorithm;
}

/// Adds an algorithm; call it before run_program. @throws InternalError if the name is taken, or
/// `keys` or `make` is missing
void register_algorithm(const Algorithm& algorithm);
/// Returns all names in alphabetical order.
std::vector<std::string> algorithm_names();
/// Returns the algorithm of this name, or nullptr.
const Algorithm* find_algorithm(std::string_view name);
/// Returns the algorithm of a `search` section; skyline unless it names another one.
/// @throws UserError for an unknown name, with the nearest one as "did you mean", and for a section without a
///         name that has a key of another algorithm
const Algorithm& algorithm_of(const ConfigNode& section);

/// Makes the searcher that a `search` section describes. It keeps copies of its arguments.
/// @throws UserError for a key that the algorithm does not have or a value out of bounds, or if the space has
///         no valid architecture (constraints too tight), found by bounded sampling and, for spaces of up to
///         100,000 genotypes, by enumeration
std::unique_ptr<Searcher> make_searcher(const ConfigNode& section, const space::SearchSpace& space,
                                        const objective::ObjectiveSet& objectives, std::uint64_t seed,
                                        const trial::Budget& budget = {});

}  // namespace skyline::search
