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
#include "engine/work/engine_options.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {

/// A run's configuration, checked as far as possible without training anything.
struct RunConfig {
  ConfigSections sections;
  std::shared_ptr<const store::Dataset> dataset;  // null without a file
  store::SplitIndices split;                      // of its training set; empty without a file
  space::DataShape shape;                         // of the file, or given
  space::SearchSpace space;
  ChosenEvaluator evaluator;
  std::vector<trial::Metric> metrics;  // of Measurements::values
  objective::ObjectiveSet objectives;
  /// The tree with all defaults filled in and what the data set is: the run folder keeps it as config.yaml.
  ConfigNode resolved;

  /// Reads and checks a whole configuration, opening the data set.
  /// @param verify_data  recompute the data set's checksums
  /// @throws UserError with file, line and key
  static RunConfig parse(const ConfigNode& written, bool verify_data);
  /// Likewise, of a configuration that states what the data set is; opens no file.
  static RunConfig read(const ConfigNode& written);
  /// Opens the data set, which must be what `section`, the configuration's `data`, states of it.
  void open_data(const ConfigNode& section, bool verify_data);

  /// SHA-256 of what determines a run's trials: the resolved tree without keys that may change. Those only
  /// bound the run, so that a finished one can be extended, or say what is kept and where.
  std::string identity_hash() const;
  engine::EngineOptions engine_options() const;
  const search::Algorithm& algorithm() const { return search::algorithm_of(sections.search); }
  /// The search; its proposals have the budget that the evaluator's section names.
  std::unique_ptr<search::Searcher> make_searcher() const;
  /// Random valid architectures, as the space has them; fewer where they are hard to find.
  std::vector<search::ArchitecturePointer> draw_valid(std::size_t count) const;
  /// The budget of the full training of the front; nothing: the front is not trained in full.
  std::optional<trial::Budget> final_budget() const;

  /// The services of the run for its evaluator; the caller adds the ranks of a job.
  evaluate::EvaluatorServices services() const;
  /// Collective over the ranks of the job, if the services name one.
  /// @throws UserError if what the configuration asks for is not there
  std::unique_ptr<trial::Evaluator> make_evaluator(const evaluate::EvaluatorServices& services) const;
};

}  // namespace skyline::app
