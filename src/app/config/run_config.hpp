#pragma once

#include "skyline/app/evaluator_kind.hpp"
#include "skyline/core/config_node.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/search/algorithm.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/store/dataset.hpp"

#include "engine/loop/run.hpp"
#include "train/course/training_evaluator.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace skyline::app {

/// The `data` section: a data set file, or (without training) just the shape of one.
struct DataOptions {
  std::string file;         // empty: no data, shape given
  double validation = 0.1;  // share of the training set
  train::Normalization normalization = train::Normalization::kStandard;
  space::DataShape shape;  // from the file, or given
  /// Folder of each node for a copy of the file, from which it is then read; empty: none is made.
  std::filesystem::path stage;
};

/// What evaluates the trials in place of training: a section of its own.
struct ChosenEvaluator {
  const EvaluatorKind* kind = nullptr;
  ConfigNode section;  // complete
};

/// A run's configuration, checked as far as possible without training anything.
struct RunConfig {
  DataOptions data;
  std::shared_ptr<const store::Dataset> dataset;  // null without a file
  store::SplitIndices split;                      // of its training set; empty without a file
  space::SearchSpace space;
  std::optional<train::TrainingOptions> training;  // either this
  std::optional<ChosenEvaluator> evaluator;        // or that
  objective::ObjectiveSet objectives;
  ConfigNode search;  // the section, complete
  engine::EngineOptions engine;
  std::optional<double> time_limit_s;  // of a job, from its start; then it stops early
  bool events = true;                  // event files for TensorBoard
  double storage_patience_s = 60;      // for how long faults of storage that may pass are borne
  /// The tree with all defaults filled in and the data's checksum: what the run folder keeps as config.yaml.
  ConfigNode resolved;

  /// Reads and checks a whole configuration, opening the data set.
  /// @param verify_data  recompute the data set's checksums
  /// @throws UserError with file, line and key
  static RunConfig parse(const ConfigNode& root, bool verify_data);

  /// SHA-256 of what determines a run's trials: the resolved tree without the data file's place (its
  /// checksum counts), without what only bounds the run (so that a finished one can be extended) and without
  /// what is only kept or not kept.
  std::string identity_hash() const;

  /// @param device  that networks are trained on; the CPU unless told otherwise
  /// @throws UserError if the device cannot do what the configuration asks for
  std::unique_ptr<trial::Evaluator> make_evaluator(train::DeviceUse device = {}) const;
};

/// Dotted path of the first setting in which two resolved configurations would give different runs; empty if
/// none.
std::string first_identity_difference(const ConfigNode& left, const ConfigNode& right);

}  // namespace skyline::app
