#pragma once

#include "skyline/trial/trial.hpp"

#include "app/config/config_sections.hpp"
#include "model_export/model/exported_model.hpp"
#include "run/opened_run.hpp"
#include "store/weights/weights.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::app {

enum class WeightsOf { kSearch, kFinal };

/// The models of a run that the command line names.
struct ModelChoice {
  std::filesystem::path run;
  std::vector<std::uint64_t> trials;
  bool front = false;                // in place of trials
  std::optional<WeightsOf> weights;  // nothing: of the full training if there was one, else of the search
};

/// A run whose models are taken out of it; its folder is only read.
struct ModelSource {
  run::OpenedRun run;
  DataOptions data;  // states what the data set is

  /// @throws UserError if there is no run in the folder, or it trains nothing
  static ModelSource open(const std::filesystem::path& folder);
};

/// The trials that the command line names, or those of the front: of the final one once there is one.
/// @throws UserError for a number that the run has no trial of, an empty front, and no or both choices
std::vector<trial::TrialNumber> chosen_trials(const ModelSource& source, const ModelChoice& choice);

/// A trained model of a run.
struct TakenModel {
  trial::SharedTrial trained;  // the training that the weights are of
  store::WeightsFile weights;
  std::filesystem::path file;  // of the weights

  const space::Architecture& architecture() const { return trained->trial.architecture(); }
};

/// Reads the weights of a search trial, those of its full training if they are there unless `choice` says
/// otherwise. @throws UserError if they are not there, or damaged
TakenModel take_model(const ModelSource& source, trial::TrialNumber number, const ModelChoice& choice);

/// Takes the models of all chosen trials, one at a time. @return a line for each that cannot be taken
/// @throws UserError if the choice is wrong
std::vector<std::string> take_models(const ModelSource& source, const ModelChoice& choice,
                                     const std::function<void(const TakenModel&)>& use);

/// What an exported model says of itself: names and values.
std::vector<std::pair<std::string, std::string>> metadata_of(const ModelSource& source,
                                                             const TakenModel& model);

/// Writes the files of a model whole, and returns their paths. @throws UserError if one is there already and
/// is not to be overwritten, or a layer has no form in the format
std::vector<std::filesystem::path> export_model(const ModelSource& source, const TakenModel& taken,
                                                model_export::Format format,
                                                const std::filesystem::path& folder, bool overwrites);

}  // namespace skyline::app
