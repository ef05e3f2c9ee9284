#pragma once

#include "skyline/trial/trial.hpp"

#include "app/config/config_sections.hpp"
#include "model_export/model/exported_model.hpp"
#include "run/opened_run.hpp"
#include "store/weights/weights.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::app {

enum class WeightsOf { kSearch, kFinal, kRefit };

/// The models of a run that the command line chooses.
struct ModelChoice {
  std::filesystem::path run;
  std::vector<std::uint64_t> trials;
  bool front = false;                // chosen instead of trials
  std::optional<WeightsOf> weights;  // if not given: the refit's, else the full training's, else the search's
};

/// A run from which models are selected. Its folder is only read.
struct ModelSource {
  run::OpenedRun run;
  DataOptions data;  // the facts about the data set

  /// Opens a run. @throws UserError if there is no run in the folder, it has no networks, or its evaluator
  /// leaves no weights
  static ModelSource open(const std::filesystem::path& folder);
};

/// Opens a run whose architectures this program can build. @throws UserError if there is no such run
run::OpenedRun open_built_run(const std::filesystem::path& folder);

/// Returns the trials that the command line names, or those of the front; of the final front if there is one.
/// @throws UserError for a number without a trial, an empty front, and no choice or both
std::vector<trial::TrialNumber> chosen_trials(const run::OpenedRun& run, const ModelChoice& choice);

struct SelectedModel {
  trial::SharedTrial trained;  // the training that gave the weights
  store::WeightsFile weights;
  std::filesystem::path file;  // file of the weights

  const space::Architecture& architecture() const { return trained->trial.architecture(); }
};

/// Reads the weights of a search trial: those of its refit, else of its full training if they exist, unless
/// `choice` says otherwise. @throws UserError if they are missing or damaged
SelectedModel select_model(const ModelSource& source, trial::TrialNumber number, const ModelChoice& choice);

/// Selects the models of all chosen trials, one at a time. Returns a line for each that cannot be selected.
/// @throws UserError if the choice is wrong
std::vector<std::string> select_models(const ModelSource& source, const ModelChoice& choice,
                                       const std::function<void(const SelectedModel&)>& use);

/// Returns what an exported model says about itself, as names and values.
model_export::Metadata metadata_of(const ModelSource& source, const SelectedModel& model);

}  // namespace skyline::app
