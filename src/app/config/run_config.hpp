#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/search/algorithm.hpp"
#include "skyline/search/candidate_pool.hpp"
#include "skyline/search/searcher.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/store/dataset.hpp"

#include "app/config/config_sections.hpp"
#include "app/config/evaluator_section.hpp"
#include "app/config/known_results.hpp"
#include "engine/work/engine_options.hpp"
#include "store/journal/journal.hpp"
#include "trial/given_metric.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {

/// A run's configuration, checked as far as possible without training anything.
struct RunConfig {
  ConfigSections sections;
  std::shared_ptr<const store::Dataset> dataset;  // nullptr if the configuration has no file
  store::SplitIndices split;                      // split of its training set; empty without a file
  space::DataShape shape;                         // shape of the file's data, or as given
  space::SearchSpace space;
  ChosenEvaluator evaluator;
  std::vector<trial::Metric> metrics;     // metrics of Measurements::values
  std::vector<trial::GivenMetric> given;  // metrics that are known before a training, as they are written
  objective::ObjectiveSet objectives;
  KnownResults known;  // empty if the configuration is only read
  /// The tree with all defaults filled in and with the facts about the data set, each value with its place in
  /// the user's file. The run folder keeps it as config.yaml.
  ConfigNode resolved;

  /// Reads and checks a whole configuration, and opens the data set.
  /// @param verify_data  whether to recompute the data set's checksums
  /// @param slots        slots of a rank, as far as they are known
  /// @throws UserError with file, line and key
  static RunConfig parse(const ConfigNode& written, bool verify_data, std::size_t slots = 1);
  /// Reads a configuration that contains the facts about the data set; opens no file. @throws UserError
  static RunConfig read(const ConfigNode& written);
  /// Opens the data set, unless it is open, and splits it. @param section  `data`, whose facts it must have
  /// @throws UserError
  void open_data(const ConfigNode& section);
  /// Returns the SHA-256 of all that determines a run's trials: the resolved tree without keys that may
  /// change. Those keys only bound the run, so that a finished one can be extended, or say what is kept and
  /// where.
  std::string identity_hash() const;
  /// Returns the checksums of the user's programs as they are now.
  store::Checksums programs() const;
  /// Returns the header of a new journal, without the user's programs. @param made  the run's evaluator
  store::JournalHeader journal_header(const trial::Evaluator& made) const;
  engine::EngineOptions engine_options() const;
  const search::Algorithm& algorithm() const { return search::algorithm_of(sections.search); }
  /// Makes the searcher of the search; its proposals have the budget of the evaluator's section.
  /// @param programs  none where nothing is trained
  std::unique_ptr<search::Searcher> make_searcher(const search::SearchPrograms& programs = {}) const;
  /// Returns random valid architectures of the space; fewer if they are hard to find.
  std::vector<search::ArchitecturePointer> draw_valid(std::size_t count) const;
  /// Returns the budget of the full training of the front, or nullopt if there is no full training.
  std::optional<trial::Budget> final_budget() const;

  /// Returns the services of the run for its evaluator; the caller adds the ranks of a job.
  evaluate::EvaluatorServices services() const;
  /// Makes the evaluator. Collective over the ranks of the job, if the services name one.
  /// @throws UserError if something that the configuration asks for is missing
  std::unique_ptr<trial::Evaluator> make_evaluator(const evaluate::EvaluatorServices& services) const;
};

}  // namespace skyline::app
