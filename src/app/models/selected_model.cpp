#include "app/models/selected_model.hpp"

#include "skyline/core/error.hpp"

#include "app/config/evaluator_section.hpp"
#include "app/config/exported_network.hpp"
#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "core/version.hpp"
#include "report/files/trial_results.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/publish.hpp"
#include "trial/refit.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <system_error>
#include <variant>

namespace skyline::app {
namespace {

std::string trial_text(trial::TrialNumber number) {
  return "trial " + std::to_string(number);
}

/// Returns the trials that have weights: "trials 1, 8 have weights".
std::string kept_text(const store::RunPaths& paths) {
  constexpr std::size_t kMostShown = 20;
  std::set<std::uint64_t> kept;
  std::error_code ignored;  // ignored on purpose: a missing folder holds no weights
  for (const auto& entry : std::filesystem::directory_iterator(paths.weights_folder(), ignored)) {
    const std::string name = entry.path().filename().string();
    const std::string number = name.substr(0, name.find('.'));
    if (const auto trial = parse_integer(number);
        trial && *trial >= 0 &&
        (name == number + ".h5" || name == number + ".final.h5" || name == number + ".refit.h5"))
      kept.insert(static_cast<std::uint64_t>(*trial));
  }
  if (kept.empty()) return "no trial has any";
  std::vector<std::string> numbers;
  for (const std::uint64_t trial : kept) {
    if (numbers.size() == kMostShown) break;
    numbers.push_back(std::to_string(trial));
  }
  const std::size_t others = kept.size() - numbers.size();
  return "those that have are " + joined(numbers) + (others > 0 ? " and " + counted(others, "other") : "");
}

/// Returns the last full training of a search trial that left weights, or nullptr. Repeats leave none.
trial::SharedTrial full_training(const ModelSource& source, trial::TrialNumber number) {
  const auto trainings = source.run.state.full_trainings(number);
  for (auto each = trainings.rbegin(); each != trainings.rend(); ++each) {
    const bool is_repeat = (*each)->trial.proposal.final_repeat > 0;
    if (!is_repeat && std::holds_alternative<trial::Measurements>((*each)->outcome)) return *each;
  }
  return nullptr;
}

/// Returns the training whose weights are selected: nullptr if there was none. Without a choice it is the
/// refit, else the full training, if its weights are or should be there.
trial::SharedTrial chosen_training(const ModelSource& source, trial::TrialNumber number,
                                   const ModelChoice& choice) {
  const run::RunState& state = source.run.state;
  const trial::SharedTrial refit = state.refit_of(number);
  const trial::SharedTrial full = full_training(source, number);
  if (choice.weights == WeightsOf::kSearch) return state.search_trial(number);
  if (choice.weights == WeightsOf::kFinal) return full;
  if (choice.weights == WeightsOf::kRefit) return refit;
  const bool keeps_all = source.run.config.at("run").at("keep_weights").as_text() == "all";
  const auto is_wanted = [&](const trial::SharedTrial& training) {
    return training != nullptr && std::holds_alternative<trial::Measurements>(training->outcome) &&
           (keeps_all || state.on_final_front(number) ||
            store::exists(source.run.paths.weights(training->trial.name())));
  };
  if (is_wanted(refit)) return refit;
  return is_wanted(full) ? full : state.search_trial(number);
}

/// Returns how a training is called by `--weights`.
std::string weights_word(const trial::Trial& trial) {
  if (trial::is_refit(trial)) return "refit";
  return trial.is_final() ? "final" : "search";
}

/// Returns a measured or computed value as text; empty if it was not measured.
std::string value_text(const ModelSource& source, const trial::CommittedTrial& trained,
                       const std::string& metric) {
  const auto value = report::metric_value(trained, metric, source.run.header.metrics);
  return value ? objective::number_text(*value) : "";
}

/// Returns the part of a provenance that does not depend on the version of the program.
std::string_view without_version(std::string_view provenance) {
  return provenance.substr(std::min(provenance.find("\"config_hash\""), provenance.size()));
}

/// Checks that the weights belong to the trial: a full training with another budget writes its weights before
/// it is committed, and files can be copied. @throws UserError
void check_training(const ModelSource& source, const SelectedModel& model) {
  const std::string expected =
      store::provenance(model.trained->trial, {program_version(), source.run.header.config_hash});
  if (without_version(model.weights.provenance) == without_version(expected)) return;
  throw UserError(model.file.string() + ": is not of the last committed training of " +
                  trial_text(model.trained->trial.number));
}

}  // namespace

run::OpenedRun open_built_run(const std::filesystem::path& folder) {
  run::OpenedRun run = run::OpenedRun::open(folder);
  if (const std::optional<std::string> kind = run.space.missing_kind()) {
    throw UserError(folder.string() + ": has layers of the kind " + in_quotes(*kind) +
                    ", which this program does not have: use the one that the run is of");
  }
  return run;
}

ModelSource ModelSource::open(const std::filesystem::path& folder) {
  ModelSource source{open_built_run(folder), {}};
  if (!source.run.space.has_network()) {
    throw UserError(folder.string() + ": its space has no network, only parameters: there are no models");
  }
  source.data = DataOptions::table().parse(source.run.config.at("data"));
  const std::optional<ChosenEvaluator> evaluator = known_evaluator(source.run.config);
  if (evaluator && !evaluator->needs.weights) {
    throw UserError(folder.string() + ": its evaluator `" + evaluator->kind->name +
                    "` trains no networks: there are no weights");
  }
  return source;
}

std::vector<trial::TrialNumber> chosen_trials(const run::OpenedRun& run, const ModelChoice& choice) {
  const run::RunState& state = run.state;
  if (choice.front == !choice.trials.empty()) {
    throw UserError("expected either --trial NUMBER or --front");
  }
  if (choice.front) {
    const auto& keys = (state.final_front().size() > 0 ? state.final_front() : state.front()).keys();
    if (keys.empty()) throw UserError(choice.run.string() + ": the front is empty");
    return {keys.begin(), keys.end()};
  }
  for (const trial::TrialNumber number : choice.trials) {
    if (state.trials().position_of(number)) continue;
    throw UserError("--trial " + std::to_string(number) + ": " + choice.run.string() + " has no such trial");
  }
  return choice.trials;
}

SelectedModel select_model(const ModelSource& source, trial::TrialNumber number, const ModelChoice& choice) {
  const store::RunPaths& paths = source.run.paths;
  SelectedModel model;
  if (!choice.weights && full_training(source, number) == nullptr &&
      source.run.state.on_final_front(number)) {
    throw UserError(trial_text(number) +
                    ": the first of its full trainings failed and left no weights; `--weights search` takes "
                    "those of the search");
  }
  model.trained = chosen_training(source, number, choice);
  if (model.trained == nullptr) {
    throw UserError(trial_text(number) + (choice.weights == WeightsOf::kRefit
                                              ? " has no refit (`final.refit`)"
                                              : " was not trained in full"));
  }
  model.file = paths.weights(model.trained->trial.name());
  if (const auto* failure = std::get_if<trial::Failure>(&model.trained->outcome)) {
    throw UserError(trial_text(number) + " failed: " + failure->reason);
  }
  if (trial::is_outside(model.trained->outcome)) {
    throw UserError(trial_text(number) + " was not trained: " + trial::reason_of(model.trained->outcome));
  }
  if (!trial::is_whole(model.trained->outcome)) {
    throw UserError(trial_text(number) + " was pruned (`search.pruning`) and left no weights");
  }
  if (!store::exists(model.file)) {
    const bool takes_search = !model.trained->trial.is_final();
    const trial::TrialName other{number, takes_search};
    if (store::exists(paths.weights(other))) {
      throw UserError(model.file.string() + ": is not there; `--weights " +
                      (takes_search ? "final` takes those of the trial's full training"
                                    : "search` takes those of the trial's search"));
    }
    throw UserError(trial_text(number) + " has no weights in " + paths.weights_folder().string() +
                    ": run.keep_weights was " + source.run.config.at("run").at("keep_weights").as_text() +
                    ", " + kept_text(paths));
  }
  model.weights = store::read_weights(model.file);
  check_training(source, model);
  return model;
}

std::vector<std::string> select_models(const ModelSource& source, const ModelChoice& choice,
                                       const std::function<void(const SelectedModel&)>& use) {
  std::vector<std::string> missing;
  for (const trial::TrialNumber number : chosen_trials(source.run, choice)) {
    SelectedModel model;
    try {
      model = select_model(source, number, choice);
    } catch (const UserError& error) {
      missing.emplace_back(error.what());
      continue;
    }
    use(model);
  }
  return missing;
}

model_export::Metadata metadata_of(const ModelSource& source, const SelectedModel& model) {
  const trial::Trial& trial = model.trained->trial;
  model_export::Metadata metadata = network_metadata(source.run.space, trial.architecture(), source.data);
  metadata.emplace_back("run",
                        printable(report::run_name({std::filesystem::absolute(source.run.paths.root)})));
  metadata.emplace_back("trial", std::to_string(trial.number));
  metadata.emplace_back("weights", weights_word(trial));
  metadata.emplace_back("epochs", objective::number_text(trial.budget().epochs));
  // A refit has no validation values; those of the comparison stay.
  const trial::SharedTrial compared =
      trial::is_refit(trial) ? source.run.state.final_training(trial.number) : model.trained;
  for (const objective::Objective& objective : source.run.state.objectives_of(trial).objectives()) {
    metadata.emplace_back("objective." + objective.metric, value_text(source, *compared, objective.metric));
  }
  for (const trial::Metric& metric : source.run.header.metrics) {
    if (metric.of != trial::Metric::Of::kTest) continue;
    const std::string value = value_text(source, *model.trained, metric.name);
    if (!value.empty()) metadata.emplace_back(metric.name, value);
  }
  return metadata;
}

}  // namespace skyline::app
