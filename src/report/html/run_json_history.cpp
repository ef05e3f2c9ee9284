// Data of the page that depend on the order of the commits: volume, evolution of the front, learning curves.
#include "skyline/space/layer_kind.hpp"

#include "report/compare/volume_curve.hpp"
#include "report/html/importance.hpp"
#include "report/html/run_json.hpp"
#include "report/text/front_table.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

namespace skyline::report {
namespace {

constexpr std::size_t kMostVolumes = 400;
constexpr std::size_t kMostFronts = 12;
constexpr std::size_t kFewestIterations = 3;  // with fewer iterations, fronts are shown by trials
constexpr std::size_t kMostCourses = 200;

using Trials = std::vector<run::SharedTrial>;

Trials search_trials(const run::RunState& state) {
  Trials trials;
  for (const run::SharedTrial& trial : state.trials()) {
    if (!trial->trial.is_final()) trials.push_back(trial);
  }
  return trials;
}

/// Returns the budget that most of the trials had; values with other budgets cannot be compared.
double usual_epochs(const Trials& trials) {
  std::map<double, std::size_t> counts;
  for (const run::SharedTrial& trial : trials) ++counts[trial->trial.budget().epochs];
  if (counts.empty()) return 0;
  return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })->first;
}

bool is_ordered(const space::Parameter& parameter) {
  const auto number = [](const space::Value& value) {
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
  };
  return std::ranges::all_of(parameter.values, number) &&
         std::ranges::is_sorted(parameter.values, {},
                                [](const space::Value& value) { return space::as_number(value); });
}

std::vector<ParameterColumn> columns_of(const space::SearchSpace& space, const Trials& trials) {
  std::vector<ParameterColumn> columns;
  for (std::size_t p = 0; p < space.parameters().size(); ++p) {
    const space::Parameter& parameter = space.parameters()[p];
    ParameterColumn column{parameter.values.size(), is_ordered(parameter), {}};
    for (const run::SharedTrial& trial : trials) {
      const space::Architecture& architecture = trial->trial.architecture();
      column.choices.push_back(
          architecture.used[p] ? static_cast<std::int32_t>(architecture.genotype.choices[p]) : -1);
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

/// @param names  train_loss, validation_loss, ...; the same for all trainings
Json course_json(const store::TrainingKey& key, const store::LearningCurve& course,
                 const std::vector<std::string>& names) {
  Json json{{"trial", to_text(key.trial)}, {"step", course.steps}};
  for (const std::string& name : names) {
    Json& values = json[name] = Json::array();
    for (std::size_t i = 0; i < course.steps.size(); ++i)
      values.push_back(short_number(course.value(i, name)));
  }
  return json;
}

constexpr int kAnswersVersion = 1;  // version of the format of answer files

/// Brings pictures of samples into the form that a page reads fast, or removes them.
void change_pictures(Json& answers, bool shown) {
  for (Json& sample : answers["worst"]) {
    if (!sample.contains("pixels")) continue;
    const std::string pixels = sample.at("pixels");
    sample.erase("pixels");
    if (shown && pixels.find_first_not_of("0123456789abcdef") == std::string::npos)
      sample["pixels"] = base64_of_hex(pixels);
  }
}

constexpr std::size_t kMostNetworks = 60;
constexpr std::size_t kMostLayers = 20'000;  // layers of all graphs together

Json attributes_json(const space::Layer& layer) {
  Json json = Json::object();
  for (const auto& [name, value] : layer.attributes) json[name] = space::to_text(value);
  return json;
}

/// Returns whether the page draws the layer in the box of its input, e.g. a norm or an activation. Such a
/// layer has one input, and each value of its output depends on one feature and place of it.
bool follows_input(const space::Layer& layer) {
  return layer.inputs.size() == 1 && layer.output == layer.input() &&
         layer.attributes.find("kernel") == nullptr && traits_of(layer).features == space::Features::kKept;
}

Json layer_json(const space::Layer& layer) {
  return {{"name", layer.name},
          {"kind", layer.kind},
          {"inputs", layer.inputs},
          {"follows_input", follows_input(layer)},
          {"attributes", attributes_json(layer)},
          {"output", space::to_text(layer.output)},
          {"parameters", layer.cost.parameters},
          {"flops", layer.cost.flops}};
}

}  // namespace

Json volume_json(const ReportedRun& run) {
  const run::RunState& state = run.opened.state;
  const std::vector<double> curve = volume_curve(state);
  Json json{{"text", volume_text(state)},
            {"trials", Json::array()},
            {"hours", Json::array()},
            {"volume", Json::array()}};
  const auto trials = search_trials(state);
  const std::size_t stride = std::max<std::size_t>((curve.size() + kMostVolumes - 1) / kMostVolumes, 1);
  double hours = 0;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    hours = std::max(hours, end_hours(trials[i]->timing));
    if ((i + 1) % stride != 0 && i + 1 != curve.size()) continue;
    json["trials"].push_back(i + 1);
    json["hours"].push_back(short_number(hours));
    json["volume"].push_back(short_number(curve[i]));
  }
  return json;
}

Json evolution_json(const ReportedRun& run) {
  const run::RunState& state = run.opened.state;
  const auto trials = search_trials(state);
  Json json = Json::array();
  if (trials.empty()) return json;
  std::vector<std::size_t> ends;  // numbers of trials after which a front is shown
  for (std::size_t i = 1; i <= trials.size(); ++i) {
    const bool last = i == trials.size();
    if (last || trials[i]->trial.proposal.iteration > trials[i - 1]->trial.proposal.iteration)
      ends.push_back(i);
  }
  const bool by_iteration = ends.size() >= kFewestIterations;
  if (!by_iteration) {
    ends.resize(trials.size());
    std::iota(ends.begin(), ends.end(), 1);
  }
  const std::size_t shown = std::min(ends.size(), kMostFronts);
  search::RepeatedFront archive(state.objectives().objectives().size(), state.repeats());
  std::size_t done = 0;
  for (std::size_t f = 1; f <= shown; ++f) {
    for (; done < ends[f * ends.size() / shown - 1]; ++done) {
      archive.tell(state.objectives(), trials[done]);
    }
    json.push_back({{"trials", done}, {"front", archive.front().keys()}});
    if (by_iteration) json.back()["iteration"] = trials[done - 1]->trial.proposal.iteration;
  }
  return json;
}

Json importance_json(const ReportedRun& run) {
  const run::RunState& state = run.opened.state;
  Json json = Json::array();
  Trials trials = search_trials(state);
  std::erase_if(trials, [&](const auto& trial) { return !state.objectives().values(*trial); });
  const double epochs = usual_epochs(trials);
  std::erase_if(trials, [&](const auto& trial) { return trial->trial.budget().epochs != epochs; });
  if (trials.size() < kFewestRanked) return json;
  const std::vector<ParameterColumn> columns = columns_of(run.opened.space, trials);
  const auto& objectives = state.objectives().objectives();
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    std::vector<double> minimized;
    for (const auto& trial : trials) minimized.push_back(state.objectives().minimized(*trial).value()[i]);
    Json importance = Json::array();
    for (const double value : parameter_importance(columns, minimized))
      importance.push_back(short_number(value));
    json.push_back({{"metric", objectives[i].metric},
                    {"trials", trials.size()},
                    {"epochs", short_number(epochs)},
                    {"importance", std::move(importance)}});
  }
  return json;
}

Json courses_json(const ReportedRun& run) {
  const run::RunState& state = run.opened.state;
  const std::vector<std::string> names = store::course_names(run.opened.header.metrics, run.courses);
  Json json = Json::array();
  const auto add = [&](bool on_front) {
    for (const run::SharedTrial& trial : state.trials()) {
      if (json.size() >= kMostCourses) return;
      if (trial->trial.proposal.final_repeat > 0) continue;
      const bool is_member = state.on_front(trial->trial.number) || state.on_final_front(trial->trial.number);
      if (is_member != on_front) continue;
      const store::TrainingKey key{trial->trial.name(), trial->timing.started_s};
      const auto course = run.courses.find(key);
      if (course != run.courses.end()) json.push_back(course_json(key, course->second, names));
    }
  };
  add(true);
  add(false);
  return json;
}

// The layer graphs of the front, and what its networks answer to the test set, for the page.
Json networks_json(const ReportedRun& run) {
  Json json = Json::object();
  if (!run.opened.space.has_network() || run.opened.space.missing_kind()) return json;
  std::size_t layers = 0;
  for (const trial::TrialNumber number : members_of(run.opened.state)) {
    const run::SharedTrial member = run.opened.state.search_trial(number);
    const space::Network& network = member->trial.architecture().network();
    layers += network.layers.size();
    if (json.size() >= kMostNetworks || layers > kMostLayers) break;
    Json list = Json::array();
    for (const space::Layer& layer : network.layers) list.push_back(layer_json(layer));
    json[std::to_string(number)] = {{"input", space::to_text(network.input)}, {"layers", std::move(list)}};
  }
  return json;
}

Json answers_json(const ReportedRun& run) {
  Json json = Json::object();
  for (const auto& [number, text] : run.answers) {
    try {
      Json answers = Json::parse(text);
      if (answers.at("version") != kAnswersVersion) continue;
      for (const char* key : {"names", "samples", "targets"}) (void)answers.at(key);
      if (answers.contains("worst")) change_pictures(answers, run.shows_samples);
      answers.erase("replicates");
      json[std::to_string(number)] = std::move(answers);
    } catch (const Json::exception&) {
      // The file is damaged, and the page does without it.
    }
  }
  return json;
}

}  // namespace skyline::report
