#include "report/html/run_json.hpp"

#include "report/files/answers.hpp"
#include "report/files/trial_results.hpp"
#include "report/text/front_table.hpp"
#include "report/text/run_account.hpp"
#include "store/journal/trial_json.hpp"
#include "trial/refit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <type_traits>

#include <fmt/format.h>

namespace skyline::report {
namespace {

constexpr double kMostWhole = 9e15;  // largest whole number that is written as such
constexpr double kSecondsPerHour = 3600;

/// Returns the objectives, then the measured metrics, then the costs.
std::vector<std::string> metric_names(const run::OpenedRun& run) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const auto& objective : run.state.objectives().objectives()) add(objective.metric);
  for (const trial::Metric& metric : run.header.metrics) add(metric.name);
  for (const trial::Metric& metric : run.state.objectives().computed()) add(metric.name);
  return names;
}

/// Returns the parts of each metric's description that the page needs to show it.
Json descriptions_of(const run::OpenedRun& run) {
  Json descriptions = Json::object();
  for (const std::string& name : metric_names(run)) {
    const trial::Metric metric = described(name, run.header.metrics, run.state.objectives().computed());
    descriptions[name] = {{"unit", metric.unit},
                          {"share", metric.range == trial::MetricRange{0, 1}},
                          {"higher", metric.better == trial::Better::kHigher},
                          {"cost", is_computed_metric(name, run.header.metrics)},
                          {"test", metric.of == trial::Metric::Of::kTest},
                          {"full", metric.when == trial::Metric::When::kFullTraining}};
  }
  return descriptions;
}

/// Returns for each parameter its values, and the index of each trial's value.
Json parameters_of(const space::SearchSpace& space, std::vector<Json> choices) {
  Json list = Json::array();
  for (std::size_t p = 0; p < choices.size(); ++p) {
    const space::Parameter& parameter = space.parameters()[p];
    Json values = Json::array();
    for (const space::Value& value : parameter.values) {
      // The page takes null for "not used", and knows no lists.
      const bool is_text =
          std::holds_alternative<space::Null>(value) || std::holds_alternative<space::Sides>(value);
      values.push_back(is_text ? Json(space::to_text(value)) : store::encode_value(value));
    }
    list.push_back(
        {{"name", parameter.name}, {"values", std::move(values)}, {"choices", std::move(choices[p])}});
  }
  return list;
}

bool has_value(const Json& list) {
  return std::ranges::any_of(list, [](const Json& value) { return !value.is_null(); });
}

/// Returns the trial whose metrics are shown: the mean of its repeats, if it is the first one, or itself.
run::SharedTrial shown_of(const run::RunState& state, const run::SharedTrial& each) {
  const trial::Trial& trial = each->trial;
  if (trial.is_final()) {
    const bool is_first = trial.proposal.final_repeat == 0 && trial.budget() == state.final_budget();
    return is_first ? state.final_mean(trial.number) : each;
  }
  return state.repeats() > 1 && trial.proposal.repeat == 0 ? state.search_mean(trial.number) : each;
}

/// Returns one column per fact, measured metric and parameter. Each trial is read only once, because that
/// takes time.
Json trial_columns(const run::OpenedRun& run) {
  const std::vector<std::string> metrics = metric_names(run);
  std::vector<Json> measured(metrics.size(), Json::array());
  // -1 if its network does not use the parameter
  std::vector<Json> choices(run.space.parameters().size(), Json::array());
  Json json = {{"metrics", Json::object()}};
  Json expected = Json::array();  // [low, value, high], null where the searcher has expected nothing
  const auto& objectives = run.state.objectives().objectives();
  const auto predicted = std::ranges::find(objectives, false, &objective::Objective::computed);
  for (const char* name : {"number", "final", "arch", "status", "iteration", "origin", "epochs", "start",
                           "seconds", "rank", "slot"}) {
    json[name] = Json::array();
  }
  for (const run::SharedTrial& each : run.state.trials()) {
    const trial::Trial& trial = each->trial;
    const space::Architecture& architecture = trial.architecture();
    json["number"].push_back(trial.number);
    // The repeats of a full training have 2, 3, ...; the first one shows their means. A refit has -1.
    const std::int64_t repeat = trial::is_refit(trial) ? -2 : std::int64_t{trial.proposal.final_repeat};
    json["final"].push_back(trial.is_final() ? 1 + repeat : 0);
    const run::SharedTrial measured_by = shown_of(run.state, each);
    json["arch"].push_back(space::to_text(architecture.id));
    json["status"].push_back(status_of(*measured_by));
    json["iteration"].push_back(trial.proposal.iteration);
    json["origin"].push_back(std::string(trial.proposal.origin.text()));
    json["epochs"].push_back(short_number(trial.budget().epochs));
    json["start"].push_back(short_number(each->timing.started_s));
    json["seconds"].push_back(short_number(each->timing.total_s()));
    json["rank"].push_back(each->timing.rank);
    json["slot"].push_back(each->timing.slot);
    expected.push_back(nullptr);
    if (const auto& model = trial.proposal.expected) {
      expected.back() = {short_number(model->low), short_number(model->value), short_number(model->high)};
    }
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      measured[i].push_back(short_number(metric_value(*measured_by, metrics[i], run.header.metrics)));
    }
    for (std::size_t p = 0; p < choices.size(); ++p) {
      choices[p].push_back(architecture.used[p] ? std::int64_t{architecture.genotype.choices[p]} : -1);
    }
  }
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (has_value(measured[i])) json["metrics"][metrics[i]] = std::move(measured[i]);
  }
  if (has_value(expected) && predicted != objectives.end())
    json["expected"] = {{"metric", predicted->metric}, {"values", std::move(expected)}};
  json["parameters"] = parameters_of(run.space, std::move(choices));
  return json;
}

/// Counts failed trials by kind and reason, the most frequent first.
Json failures_of(const run::RunState& state) {
  constexpr std::size_t kMostNamed = 20;
  Json list = Json::array();
  for (const FailureGroup& group : failure_groups({state.trials().begin(), state.trials().end()})) {
    Json named = Json::array();
    for (const trial::TrialName name : group.trials) {
      if (named.size() < kMostNamed) named.push_back(trial::to_text(name));
    }
    list.push_back({{"kind", trial::to_text(group.failure.kind)},
                    {"reason", group.failure.reason},
                    {"count", group.trials.size()},
                    {"trials", std::move(named)}});
  }
  return list;
}

/// Says why there is no front, or no final one; null if there is one.
Json missing_front_of(const ReportInputs& inputs) {
  const run::RunState& state = inputs.state;
  if (state.trials().empty()) return nullptr;
  if (state.front().size() == 0) return "There is no front: " + no_front_reason(inputs) + ".";
  if (state.final_budget() && state.final_front().size() == 0)
    return "There is no final front: " + no_final_front_reason(inputs) + ".";
  return nullptr;
}

/// Returns what was measured of a training, by metric.
Json values_of(const trial::CommittedTrial& committed, const std::vector<trial::Metric>& metrics) {
  Json values = Json::object();
  for (const trial::Metric& metric : metrics) {
    if (const auto value = metric_value(committed, metric.name, metrics))
      values[metric.name] = short_number(value);
  }
  return values;
}

/// Returns the repeats of the trials of both fronts by their trial, where there are several, with what the
/// first one measured, whose model is exported.
/// @param repeats_of  returns the repeats of a trial
template <typename RepeatsOf>
Json repeats_by_member(const run::OpenedRun& run, const RepeatsOf& repeats_of) {
  Json json = Json::object();
  for (const trial::TrialNumber number : members_of(run.state)) {
    const SeedGroup repeats = repeats_of(number);
    if (repeats.size() < 2) continue;
    Json& member = json[std::to_string(number)] = repeats_json(repeats, run.header.metrics);
    member["first"] = values_of(*repeats.front(), run.header.metrics);
  }
  return json;
}

/// Returns what refits measured, by their trial.
Json refits_json(const run::OpenedRun& run) {
  Json json = Json::object();
  for (const trial::TrialNumber number : members_of(run.state)) {
    const run::SharedTrial refit = run.state.refit_of(number);
    if (refit != nullptr && failure_of(*refit) == nullptr)
      json[std::to_string(number)] = values_of(*refit, run.header.metrics);
  }
  return json;
}

Json final_repeats_json(const run::OpenedRun& run) {
  return repeats_by_member(run, [&](trial::TrialNumber number) { return run.state.final_repeats(number); });
}

Json search_repeats_json(const run::OpenedRun& run) {
  if (run.state.repeats() == 1) return Json::object();
  return repeats_by_member(run, [&](trial::TrialNumber number) { return run.state.search_repeats(number); });
}

/// Returns by which metric the result of each trial of both fronts is judged: on the test set if that was
/// measured, else the first objective. If the samples bound it, also how many they are, and its interval at
/// 95 %.
Json judged_of(const ReportInputs& inputs) {
  const run::RunState& state = inputs.state;
  const trial::Metric* test = test_metric(state.objectives(), inputs.metrics);
  Json json = Json::object();
  for (const trial::TrialNumber number : members_of(state)) {
    run::SharedTrial result = state.final_budget() ? state.final_mean(number) : nullptr;
    if (result == nullptr || failure_of(*result) != nullptr) result = state.search_mean(number);
    const bool is_tested = test != nullptr && metric_value(*result, test->name, inputs.metrics);
    const std::string metric = is_tested ? test->name : state.objectives().objectives().front().metric;
    Json& judged = json[std::to_string(number)] = {{"metric", metric}};
    const auto bound = sample_bound(inputs, *result, metric);
    if (!bound) continue;
    judged.update({{"samples", bound->samples},
                   {"low", short_number(bound->interval.low)},
                   {"high", short_number(bound->interval.high)}});
  }
  return json;
}

Json latencies_of(const std::vector<FrontLatency>& latencies) {
  Json json = Json::object();
  for (const FrontLatency& each : latencies) json[std::to_string(each.trial)] = short_number(each.least_ms());
  return json;
}

/// Returns the files of trained networks by the names of their trials.
Json weights_of(const run::OpenedRun& run) {
  std::map<std::string, std::string> files;
  std::error_code none;  // without trained networks there is no folder
  for (const auto& entry : std::filesystem::directory_iterator(run.paths.weights_folder(), none)) {
    const std::filesystem::path& file = entry.path();
    if (file.extension() == ".h5")
      files[file.stem().string()] = file.lexically_relative(run.paths.root).string();
  }
  return files;
}

/// Returns whether the values are made up, since they come from a model of training.
bool is_made_up(const ConfigNode& config) {
  return config.is_map() && config.find("synthetic") != nullptr && !config.find("synthetic")->is_null();
}

Json slots_of(const run::RunAccount& account) {
  Json list = Json::array();
  for (const run::SlotAccount& slot : account.slots) {
    Json& json = list.emplace_back();
    store::for_each_cell(slot, [&json]<typename T>(const char* name, const T& value) {
      if constexpr (std::is_floating_point_v<T>) {
        json[name] = short_number(value);
      } else {
        json[name] = value;
      }
    });
    for (const char* const same_for_all : {"processor", "program"}) json.erase(same_for_all);
  }
  return list;
}

}  // namespace

Json short_number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  if (std::abs(*value) < kMostWhole && *value == std::floor(*value)) return static_cast<std::int64_t>(*value);
  // std::stod would refuse the smallest numbers
  return std::strtod(fmt::format("{:.7g}", *value).c_str(), nullptr);
}

std::vector<trial::TrialNumber> members_of(const run::RunState& state) {
  std::vector<trial::TrialNumber> members = front_order(state.front());
  for (const trial::TrialNumber number : front_order(state.final_front())) {
    if (!state.on_front(number)) members.push_back(number);
  }
  return members;
}

/// Returns the number of genotypes, as a double because it may be too large for any integer type.
double genotypes_of(const space::SearchSpace& space) {
  double count = 1;
  for (const space::Parameter& parameter : space.parameters()) {
    count *= static_cast<double>(parameter.values.size());
  }
  return count;
}

double end_hours(const trial::TrialTiming& timing) {
  return (timing.started_s + timing.total_s()) / kSecondsPerHour;
}

Json versions_of(const run::OpenedRun& run) {
  return {{"Skyline", programs_text(run)},
          {"processors", processors_text(run.account)},
          {"configuration", run.header.config_hash},
          {"seed", std::to_string(run.header.seed)},
          {"device", run.header.device},
          {"results", run.header.deterministic ? "" : kNotDeterministic},
          {"search", run.state.search_summary()}};
}

Json run_json(const ReportedRun& run) {
  const run::OpenedRun& opened = run.opened;
  const std::optional<trial::Budget>& final_budget = opened.state.final_budget();
  const SourceTrials source = source_trials(opened.config);
  const trial::Metric* test = test_metric(opened.state.objectives(), opened.header.metrics);
  const ReportInputs inputs = inputs_of(run);
  return {
      {"name", run.name},
      {"path", opened.paths.root.string()},
      {"state", run.state},
      {"objectives", objectives_json(opened.state.objectives())},
      {"constraints", constraints_json(opened.state.objectives())},
      {"taken", source.run.empty() ? Json(nullptr) : Json{{"run", source.run}, {"numbers", source.numbers}}},
      {"described", descriptions_of(opened)},
      {"test_metric", test != nullptr ? Json(test->name) : Json(nullptr)},
      {"genotypes", genotypes_of(opened.space)},
      {"trials", trial_columns(opened)},
      {"front", front_order(opened.state.front())},
      {"final_front", front_order(opened.state.final_front())},
      {"final_epochs", final_budget ? short_number(final_budget->epochs) : Json(nullptr)},
      {"repeats", final_repeats_json(opened)},
      {"refits", refits_json(opened)},
      {"search_repeats", search_repeats_json(opened)},
      {"yardsticks", baselines_json(inputs.baselines)},
      {"notes", front_footnotes(inputs)},
      {"alike", indistinguishable_from_best(inputs)},
      {"judged", judged_of(inputs)},
      {"is_made_up", is_made_up(opened.config)},
      {"latencies", latencies_of(run.latencies)},
      {"weights", weights_of(opened)},
      {"missing_front", missing_front_of(inputs)},
      {"volume", volume_json(run)},
      {"evolution", evolution_json(run)},
      {"importance", importance_json(run)},
      {"fewest_ranked", kFewestRanked},
      {"courses", courses_json(run)},
      {"networks", networks_json(run)},
      {"answers", answers_json(run)},
      {"has_network", opened.space.has_network()},
      {"failures", failures_of(opened.state)},
      {"slots", slots_of(opened.account)},
      {"config", run.config},
      {"versions", versions_of(opened)},
      {"repeated_by", repeat_line(opened)},
      {"warnings", run.warnings},
      {"more_warnings", run.more_warnings}};
}

}  // namespace skyline::report
