#include "app/job/next_steps.hpp"

#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "model_export/model/exported_model.hpp"
#include "report/files/trial_results.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace skyline::app {
namespace {

constexpr double kLongerTraining = 3;  // epochs of a full training per epoch of the search
constexpr std::int64_t kMostDoubled = 1'000'000;

std::int64_t search_trials(const run::RunState& state) {
  return std::ranges::count_if(state.trials(),
                               [](const run::SharedTrial& member) { return !member->trial.is_final(); });
}

/// Returns the setting that doubles the length of a search. Returns nullopt if it has no bound, or ended
/// before its bound.
std::optional<std::string> doubled_length(const RunConfig& config, const run::RunState& state) {
  for (const std::string key : {"trials", "iterations"}) {
    const ConfigNode* const bound = config.sections.search.find(key);
    if (bound == nullptr || !bound->is_scalar()) continue;
    const auto length = parse_integer(bound->as_text());  // an algorithm of a user may have other values
    if (length && *length <= kMostDoubled && search_trials(state) >= *length)
      return "search." + key + "=" + std::to_string(2 * *length);
  }
  return std::nullopt;
}

/// Returns whether `skyline train` takes every member of a front.
bool all_trained_whole(const search::ParetoArchive& front, const run::RunState& state) {
  return std::ranges::none_of(
      front.keys(), [&](std::size_t key) { return state.search_trial(key)->trial.may_be_continued(); });
}

/// Returns the int8 format that a search exports its front in, the last one in the order of formats; nullptr
/// for none.
const model_export::NamedFormat* int8_format(const RunConfig& config) {
  if (!config.sections.final_training) return nullptr;
  const std::vector<model_export::Format>& exports = config.sections.final_training->exports;
  const model_export::NamedFormat* last = nullptr;
  for (const model_export::NamedFormat& named : model_export::kFormats) {
    if (is_int8(named.format) && std::ranges::count(exports, named.format) > 0) last = &named;
  }
  return last;
}

/// The table, with the run's folder as a shell reads it.
class StepTable {
 public:
  explicit StepTable(const store::RunPaths& paths) : root_((paths.root / "").parent_path().string()) {
    table_.add_column("next", report::TextTable::Align::kLeft, "", 1);
    table_.add_column("command", report::TextTable::Align::kLeft);
  }

  void add(const std::string& purpose, const std::string& command) { table_.add_row({purpose, command}); }
  std::string run() const { return in_shell(root_); }
  std::string beside(const std::string& suffix) const { return in_shell(root_ + "-" + suffix); }
  std::string text(std::size_t columns) {
    table_.fit(columns);
    return table_.text();
  }

 private:
  std::string root_;
  report::TextTable table_;
};

/// Adds what can be done with trained networks. @param best  the first member of the front
void add_models(StepTable& steps, const RunConfig& config, const run::RunState& state,
                const search::ParetoArchive& front, const std::string& best) {
  if (!config.evaluator.needs.weights) return;
  if (config.sections.run.keep_weights != engine::KeepWeights::kNone) {
    steps.add("answers to your samples", "skyline predict " + steps.run() + best + " --data NEW -o said.csv");
    const model_export::NamedFormat* const int8 = int8_format(config);
    steps.add(int8 != nullptr ? "the front as int8 files" : "the front as ONNX files",
              "skyline export " + steps.run() + " --front" +
                  (int8 != nullptr ? std::string(" --format ") + int8->name : ""));
  }
  if (config.sections.final_training || !all_trained_whole(front, state)) return;
  const double budget = kLongerTraining * config.evaluator.needs.epochs;
  const std::string epochs = ConfigNode::make_number(budget).as_text();
  steps.add("longer trainings", "skyline train " + steps.run() + " --front --epochs " + epochs + " --run " +
                                    steps.beside("longer"));
}

/// Adds further searches. They are left out if the run's search came from another run.
void add_searches(StepTable& steps, const RunConfig& config, const run::RunState& state) {
  if (!config.algorithm().source_run(config.sections.search).empty()) return;
  if (const auto setting = doubled_length(config, state))
    steps.add("a longer search", "skyline search --run " + steps.run() + " --resume --set " + *setting);
  const std::string seed = config.sections.run.seed == 1 ? "2" : "1";
  const std::string other = steps.beside("seed" + seed);
  steps.add("the search once more",
            "skyline search " + steps.run() + "/config.yaml --set run.seed=" + seed + " --run " + other);
  steps.add("both searches compared", "skyline compare " + steps.run() + " " + other);
}

}  // namespace

std::string next_steps(const store::RunPaths& paths, const RunConfig& config, const run::RunState& state,
                       std::size_t columns) {
  const bool is_final = state.final_front().size() > 0;
  const search::ParetoArchive& front = is_final ? state.final_front() : state.front();
  if (front.size() == 0) return {};
  StepTable steps(paths);
  const std::string best = " --trial " + std::to_string(report::front_order(front).front());
  if (config.space.has_network()) steps.add("one network of the front", "skyline show " + steps.run() + best);
  add_models(steps, config, state, front, best);
  add_searches(steps, config, state);
  return steps.text(columns);
}

}  // namespace skyline::app
