#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/search/cost_counter.hpp"
#include "skyline/search/pruning.hpp"
#include "skyline/search/searcher.hpp"
#include "skyline/search/tuner.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace skyline::search {

/// The task of an algorithm. The references are only valid during the call that gets them.
struct SearchProblem {
  const space::SearchSpace& space;
  const objective::ObjectiveSet& objectives;
  std::uint64_t seed = 0;
  trial::Budget budget = {};  // budget of every proposal, unless the algorithm chooses budgets itself
  /// Results of earlier runs and tables (`search.known`), all of them Measurements, for architectures of this
  /// space. Their noise and their budgets are their own. Those of a source stand together, and have its place
  /// among the sources as iteration.
  std::span<const trial::CommittedTrial> known = {};
  /// Epochs after which results have values, too (`search.pruning`).
  std::vector<std::int64_t> steps = {};
  /// Starts the program of the user that chooses; empty where nothing is trained, as in `skyline validate`.
  TunerStart start_tuner = {};
  /// Counts costs before a proposal is made; nullptr if no program does, or where nothing is trained.
  std::shared_ptr<CostCounter> counter = {};
};

/// The programs of the user that a search asks; none where nothing is trained.
struct SearchPrograms {
  TunerStart start_tuner = {};
  std::shared_ptr<CostCounter> counter = {};
};

/// A run or a table whose results a search is told before it begins.
struct KnownSource {
  std::string from;      // a run's folder or a CSV file
  std::string checksum;  // checksum of its results; empty until they are read
};
/// Returns the sources that a complete `search` section names.
std::vector<KnownSource> known_sources(const ConfigNode& section);
/// Names the sources in a complete `search` section anew.
void set_known_sources(ConfigNode& section, const std::vector<KnownSource>& sources);

/// A search algorithm that a configuration can name: `search: {algorithm: NAME, ...}`.
struct Algorithm {
  std::string name;
  std::string meaning;  // one sentence for the docs
  std::shared_ptr<const KeyTable> keys;
  /// @param section  already checked against `keys`
  std::function<std::unique_ptr<Searcher>(const ConfigNode& section, const SearchProblem& problem)> make;
  /// Refuses a section, as it was written or complete, whose values do not suit the budget of a whole trial.
  /// @throws UserError with the place of the value
  std::function<void(const ConfigNode& section, const trial::Budget& whole)> check =
      [](const ConfigNode&, const trial::Budget&) {};
  /// Returns the epochs of trials that are not whole ones, and perhaps those of whole ones.
  /// @param section  complete, and checked
  std::function<std::vector<double>(const ConfigNode& section, const trial::Budget& whole)> budgets =
      [](const ConfigNode&, const trial::Budget&) { return std::vector<double>(); };
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
  /// Whether its proposals depend on SearchProblem::known.
  bool uses_known = false;
  /// The key of its section that has a program of the user which chooses the trials; empty if there is none.
  std::string program_key = {};
  /// Whether its trials can be repeated (`search.repeats`): it continues none, and its results matter by
  /// their front.
  bool can_repeat = false;
};

/// The options of an algorithm, and those that all algorithms have.
template <typename Own>
struct AllOptions : Own {
  std::vector<KnownSource> known;
  std::uint32_t repeats = 1;  // trainings of a candidate for the front
  std::optional<PruningOptions> pruning;
};
OptionKind<std::vector<KnownSource>> known_kind();
/// The kind of `search.repeats`. The default is not written, so that older runs are the same runs.
OptionKind<std::uint32_t> repeats_kind();
/// Returns `repeats` of a complete `search` section.
std::uint32_t repeats_of(const ConfigNode& section);
/// Refuses `repeats` of a `search` section, as it was written, where they make no sense.
/// @throws UserError with file, line and key
void check_repeats(const ConfigNode& written, const Algorithm& algorithm);
/// Returns a `search` section without the keys that all algorithms have.
ConfigNode without_common_keys(const ConfigNode& section);

/// Returns the keys of an algorithm, and those that all algorithms have after them.
template <typename Own>
OptionTable<AllOptions<Own>> with_common_keys(const OptionTable<Own>& own) {
  OptionTable<AllOptions<Own>> all({});
  for (const OptionKey& key : own.keys()) {
    OptionKind<AllOptions<Own>> kind{key.value};
    kind.read = [read = key.read](const ConfigNode& node, AllOptions<Own>& options) {
      read(node, static_cast<Own*>(&options));
      return true;
    };
    kind.write = [write = key.write](const AllOptions<Own>& options) {
      return write(static_cast<const Own*>(&options));
    };
    all.add({key.name, kind, key.meaning, key.rule});
  }
  all.add({"known", &AllOptions<Own>::known, known_kind(),
           "Runs and CSV files whose results are known before the search begins."});
  all.add(
      {"repeats", &AllOptions<Own>::repeats, repeats_kind(),
       "Trainings of each candidate for the front, whose means compare; each is a trial. 1 unless given."});
  all.add({"pruning", &AllOptions<Own>::pruning, pruning_kind(),
           "Trials that are far behind others end within their training."});
  return all;
}

/// Describes an algorithm whose searcher is constructed from its options and the problem.
template <typename AnySearcher, typename Options>
Algorithm make_algorithm(const std::string& name, const std::string& meaning,
                         const OptionTable<Options>& table) {
  const auto all = with_common_keys(table).tagged("algorithm", name, meaning);
  Algorithm algorithm{.name = name,
                      .meaning = meaning,
                      .keys = std::make_shared<const OptionTable<AllOptions<Options>>>(all),
                      .make = {}};
  algorithm.make = [own = table.tagged("algorithm", name, meaning)](const ConfigNode& section,
                                                                    const SearchProblem& problem) {
    return std::make_unique<AnySearcher>(own.parse(without_common_keys(section)), problem);
  };
  if constexpr (requires(const Options& options, const trial::Budget& whole) { options.budgets_of(whole); }) {
    algorithm.budgets = [own = table.tagged("algorithm", name, meaning)](const ConfigNode& section,
                                                                         const trial::Budget& whole) {
      return own.parse(without_common_keys(section)).budgets_of(whole);
    };
  }
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
                                        const trial::Budget& budget = {},
                                        std::span<const trial::CommittedTrial> known = {},
                                        const SearchPrograms& programs = {});

}  // namespace skyline::search
