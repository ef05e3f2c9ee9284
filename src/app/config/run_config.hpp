#pragma once

#include "skyline/app/evaluator_kind.hpp"
#include "skyline/core/config_node.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/store/dataset.hpp"

#include "app/config/config_sections.hpp"
#include "engine/loop/run.hpp"
#include "train/course/training_evaluator.hpp"

#include <memory>
#include <optional>
#include <string>

namespace skyline::app {

/// What evaluates the trials in place of training: a section of its own.
struct ChosenEvaluator {
  const EvaluatorKind* kind = nullptr;
  ConfigNode section;  // complete
};

/// A run's configuration, checked as far as possible without training anything.
struct RunConfig {
  ConfigSections sections;
  std::shared_ptr<const store::Dataset> dataset;  // null without a file
  store::SplitIndices split;                      // of its training set; empty without a file
  space::DataShape shape;                         // of the file, or given
  space::SearchSpace space;
  std::optional<train::TrainingOptions> training;  // either this
  std::optional<ChosenEvaluator> evaluator;        // or that
  objective::ObjectiveSet objectives;
  /// The tree with all defaults filled in and the data's checksum: what the run folder keeps as config.yaml.
  ConfigNode resolved;

  /// Reads and checks a whole configuration, opening the data set.
  /// @param verify_data  recompute the data set's checksums
  /// @throws UserError with file, line and key
  static RunConfig parse(const ConfigNode& root, bool verify_data);

  /// SHA-256 of what determines a run's trials: the resolved tree without keys that may change. Those only
  /// bound the run, so that a finished one can be extended, or say what is kept and where.
  std::string identity_hash() const;
  engine::EngineOptions engine_options() const;

  /// @param device  that networks are trained on; the CPU unless told otherwise
  /// @throws UserError if the device cannot do what the configuration asks for
  std::unique_ptr<trial::Evaluator> make_evaluator(train::DeviceUse device = {}) const;
};

/// Dotted path of the first setting in which two resolved configurations would give different runs; empty if
/// none.
std::string first_identity_difference(const ConfigNode& left, const ConfigNode& right);

}  // namespace skyline::app
