#include "report/files/trials_json.hpp"

#include "report/files/answers.hpp"
#include "report/files/seed_groups.hpp"
#include "report/files/trial_results.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

namespace skyline::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kParetoFormat = 3;
constexpr int kModelsFormat = 4;

/// Computed metrics are exact integers. NaN and infinity become null, because JSON lacks them.
Json metric_json(std::string_view metric, std::optional<double> value,
                 const std::vector<trial::Metric>& metrics) {
  if (!value || !std::isfinite(*value)) return nullptr;
  if (is_computed_metric(metric, metrics)) return static_cast<std::int64_t>(*value);
  return *value;
}

Json number_json(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json objectives_json(const objective::ObjectiveSet& objectives) {
  Json list = Json::array();
  for (const auto& objective : objectives.objectives()) {
    const bool minimized = objective.sense == objective::Sense::kMinimize;
    list.push_back({{"metric", objective.metric},
                    {"sense", minimized ? "minimize" : "maximize"},
                    {"reference", number_json(objective.reference)},
                    {"ideal", number_json(objective.ideal)},
                    {"scale", objective::to_text(objective.scale)}});
  }
  return list;
}

Json constraints_json(const objective::ObjectiveSet& objectives) {
  Json list = Json::array();
  for (const auto& constraint : objectives.constraints()) {
    list.push_back({{"metric", constraint.metric},
                    {"low", number_json(constraint.low)},
                    {"high", number_json(constraint.high)}});
  }
  return list;
}

Json yardsticks_json(const std::vector<trial::Yardstick>& yardsticks) {
  Json json = Json::object();
  for (const trial::Yardstick& yardstick : yardsticks) {
    Json& facts = json[yardstick.metric] = Json::object();
    if (yardstick.samples) facts["samples"] = *yardstick.samples;
    if (yardstick.scored) facts["scored"] = *yardstick.scored;
    if (yardstick.constant) facts["constant"] = number_json(yardstick.constant);
  }
  return json;
}

Json header_json(const store::RunPaths& paths, const ReportInputs& inputs, int format) {
  const objective::ObjectiveSet& objectives = inputs.state.objectives();
  Json json{{"format", format},
            {"run", run_name(paths)},
            {"objectives", objectives_json(objectives)},
            {"constraints", constraints_json(objectives)}};
  if (objectives.has_more_for_full_trainings()) {
    json["final_objectives"] = objectives_json(objectives.of_full_trainings());
    json["final_constraints"] = constraints_json(objectives.of_full_trainings());
  }
  json["yardsticks"] = yardsticks_json(inputs.yardsticks);
  return json;
}

Json parameters_json(const space::SearchSpace& space, const space::Architecture& architecture) {
  Json values = Json::object();
  for (std::size_t p = 0; p < space.parameters().size(); ++p) {
    const space::Parameter& parameter = space.parameters()[p];
    if (!architecture.used[p]) {
      values[parameter.name] = nullptr;
      continue;
    }
    values[parameter.name] = store::encode_value(parameter.values[architecture.genotype.choices[p]]);
  }
  return values;
}

template <typename Specs>  // a list of objectives or of constraints
Json values_json(const Specs& specs, const trial::CommittedTrial& committed,
                 const std::vector<trial::Metric>& metrics) {
  Json values = Json::object();
  for (const auto& spec : specs) {
    values[spec.metric] = metric_json(spec.metric, metric_value(committed, spec.metric, metrics), metrics);
  }
  return values;
}

Json costs_json(const space::Cost& cost) {
  Json json = Json::object();
  for (const space::NamedCost& named : space::kCosts) json[named.name] = cost.*named.value;
  return json;
}

Json measured_json(const trial::CommittedTrial& committed, const std::vector<trial::Metric>& metrics) {
  Json values = Json::object();
  for (const std::string& metric : trial::names_of(metrics)) {
    values[metric] = metric_json(metric, metric_value(committed, metric, metrics), metrics);
  }
  return values;
}

void add_status(Json& json, const trial::CommittedTrial& committed) {
  const trial::Failure* failure = failure_of(committed);
  json["status"] = status_of(committed);
  json["reason"] = failure == nullptr ? Json(nullptr) : Json(failure->reason);
}

/// Returns whether a later full training of the same trial has replaced the file.
bool is_outdated(const run::RunState& state, const trial::CommittedTrial& committed) {
  if (!committed.trial.is_final()) return false;
  const auto trainings = state.full_trainings(committed.trial.number);
  return std::any_of(trainings.begin(), trainings.end(), [&](const run::SharedTrial& other) {
    return other->position > committed.position &&
           other->trial.proposal.final_repeat == committed.trial.proposal.final_repeat &&
           failure_of(*other) == nullptr;
  });
}

void add_weights(Json& json, const store::RunPaths& paths, const run::RunState& state,
                 const trial::CommittedTrial& committed) {
  if (failure_of(committed) != nullptr) return;  // only an earlier training can have a file
  if (is_outdated(state, committed)) return;
  const std::filesystem::path file = paths.weights(committed.trial.name());
  if (store::exists(file)) json["weights"] = file.lexically_relative(paths.root).string();
}

/// Returns mean and deviation of each metric over those trainings that have it.
Json spreads_json(const SeedGroup& trainings, const std::vector<trial::Metric>& metrics) {
  Json spreads = Json::object();
  for (const std::string& metric : trial::names_of(metrics)) {
    const auto spread = spread_of(trainings, metric, metrics);
    if (!spread) continue;
    spreads[metric] = {{"mean", number_json(spread->mean)},
                       {"deviation", number_json(spread->deviation)},
                       {"count", spread->count}};
  }
  return spreads;
}

/// Adds the repeats of a training to the first of them.
void add_repeats(Json& json, const ReportInputs& inputs, const trial::Trial& trial) {
  const std::uint32_t repeat = trial.proposal.final_repeat;
  store::add_final_repeat(json, repeat);
  if (repeat > 0 || (trial.is_final() && trial.budget() != inputs.state.final_budget())) return;
  if (!trial.is_final() && (inputs.state.repeats() == 1 || trial.proposal.repeat > 0)) return;
  const SeedGroup repeats =
      trial.is_final() ? inputs.state.final_repeats(trial.number) : inputs.state.search_repeats(trial.number);
  if (repeats.size() < 2) return;
  const auto failed =
      std::ranges::count_if(repeats, [](const auto& each) { return failure_of(*each) != nullptr; });
  json["repeats"] = {
      {"count", repeats.size()}, {"failed", failed}, {"metrics", spreads_json(repeats, inputs.metrics)}};
}

/// Returns the 95 % intervals of what a training, or the mean of its repeats, has, where samples bound it.
Json intervals_json(const ReportInputs& inputs, const trial::CommittedTrial& committed) {
  Json json = Json::object();
  for (const trial::Metric& metric : inputs.metrics) {
    if (const auto bound = sample_bound(inputs, committed, metric.name))
      json[metric.name] = {number_json(bound->interval.low), number_json(bound->interval.high)};
  }
  return json;
}

/// Returns what a further training of a search trial measured.
Json training_json(const store::RunPaths& paths, const ReportInputs& inputs,
                   const trial::CommittedTrial& committed) {
  Json json;
  store::add_fields(json, committed.trial);
  add_status(json, committed);
  json["on_front"] = inputs.state.on_its_front(committed.trial);
  json.update(measured_json(committed, inputs.metrics));
  add_weights(json, paths, inputs.state, committed);
  add_repeats(json, inputs, committed.trial);
  return json;
}

/// Returns the network layer by layer, as `skyline show` does.
Json layers_json(const space::Network& network) {
  Json layers = Json::array();
  for (const space::Layer& layer : network.layers) {
    Json attributes = Json::object();
    for (const auto& [name, value] : layer.attributes) attributes[name] = store::encode_value(value);
    Json reads = Json::array();
    for (const std::size_t input : layer.inputs) reads.push_back(network.layers[input].name);
    layers.push_back({{"name", layer.name},
                      {"kind", layer.kind},
                      {"reads", layer.inputs.empty() ? Json::array({"input"}) : reads},
                      {"attributes", attributes},
                      {"output", {layer.output.channels, layer.output.height, layer.output.width}},
                      {"parameters", layer.cost.parameters},
                      {"macs", layer.cost.macs},
                      {"flops", layer.cost.flops}});
  }
  return layers;
}

Json trial_json(const store::RunPaths& paths, const ReportInputs& inputs,
                const trial::CommittedTrial& committed) {
  const trial::Trial& trial = committed.trial;
  const space::Architecture& architecture = trial.architecture();
  const std::string id = space::to_text(architecture.id);

  Json json{
      {"trial", trial.number},
      {"arch_id", id},
      {"archai_id", inputs.space.archai_id(architecture)},
      {"parameters", parameters_json(inputs.space, architecture)},
      {"objectives", values_json(inputs.state.objectives_of(trial).objectives(), committed, inputs.metrics)},
      {"constraints",
       values_json(inputs.state.objectives_of(trial).constraints(), committed, inputs.metrics)},
      {"costs", costs_json(architecture.cost)},
      {"metrics", measured_json(committed, inputs.metrics)},
      {"phase", trial::to_text(trial.phase())}};
  if (!architecture.has_network()) json.erase("costs");
  store::add_fields(json, trial);
  add_status(json, committed);
  json["on_front"] = inputs.state.on_its_front(trial);
  add_weights(json, paths, inputs.state, committed);
  add_repeats(json, inputs, trial);
  const run::SharedTrial full_training = final_of(inputs.state, trial.number);
  if (!trial.is_final() && full_training != nullptr)
    json["final"] = training_json(paths, inputs, *full_training);
  const bool is_compared = trial.proposal.final_repeat == 0;
  if (const run::SharedTrial refit = is_compared ? inputs.state.refit_of(trial.number) : nullptr)
    json["refit"] = training_json(paths, inputs, *refit);
  const auto has_weights = [&](const char* training) {
    return json.contains(training) && json[training].contains("weights");
  };
  const bool kept = json.contains("weights") || has_weights("final") || has_weights("refit");
  if (kept && architecture.has_network() && !inputs.space.missing_kind())
    json["layers"] = layers_json(architecture.network());
  return json;
}

void erase_nulls(Json& object) {
  for (auto member = object.begin(); member != object.end();) {
    member = member->is_null() ? object.erase(member) : std::next(member);
  }
}

/// Leaves out what a list of 100,000 trials need not say: copies of metrics and costs, what most trials have
/// in common, what search_state.csv has too, and members without a value.
Json shortened(Json json) {
  for (const char* name : {"archai_id", "objectives", "constraints", "cost"}) json.erase(name);
  if (json["horizon"] == json["epochs"]) json.erase("horizon");
  if (json["members"] == 1) json.erase("members");
  erase_nulls(json);
  for (const char* name : {"parameters", "metrics", "final", "refit"}) {
    if (const auto part = json.find(name); part != json.end()) erase_nulls(*part);
  }
  return json;
}

Json hypervolume_json(const run::RunState& state) {
  return {{"search", number_json(state.volume())},
          {"final", state.final_budget() ? number_json(state.final_volume()) : Json(nullptr)}};
}

/// Returns statistics of each architecture that was trained in full with several seeds.
Json seeds_json(const ReportInputs& inputs) {
  Json list = Json::array();
  for (const SeedGroup& group : seed_groups(inputs)) {
    const space::Architecture& architecture = group.front()->trial.architecture();
    Json trials = Json::array();
    for (const run::SharedTrial& training : group) trials.push_back(training->trial.number);
    list.push_back({{"arch_id", space::to_text(architecture.id)},
                    {"parameters", parameters_json(inputs.space, architecture)},
                    {"trials", std::move(trials)},
                    {"metrics", spreads_json(group, inputs.metrics)}});
  }
  return list;
}

Json search_front_json(const store::RunPaths& paths, const ReportInputs& inputs) {
  Json list = Json::array();
  for (const trial::TrialNumber number : front_order(inputs.state.front())) {
    const run::SharedTrial searched = inputs.state.search_mean(number);
    list.push_back(trial_json(paths, inputs, *searched));
    if (Json intervals = intervals_json(inputs, *searched); !intervals.empty())
      list.back()["intervals"] = std::move(intervals);
  }
  return list;
}

constexpr int kInOneLine = -1;

/// Replaces bytes that are not UTF-8, because a failure's reason may quote any bytes.
std::string text_of(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string architecture_json(const space::SearchSpace& space, const space::Architecture& architecture) {
  const space::Network& network = architecture.network();
  const Json json{{"arch_id", space::to_text(architecture.id)},
                  {"archai_id", space.archai_id(architecture)},
                  {"parameters", parameters_json(space, architecture)},
                  {"input", {network.input.channels, network.input.height, network.input.width}},
                  {"costs", costs_json(architecture.cost)},
                  {"layers", layers_json(network)}};
  return text_of(json) + "\n";
}

std::string front_json(const store::RunPaths& paths, const ReportInputs& inputs) {
  return text_of(search_front_json(paths, inputs)) + "\n";
}

void write_pareto_json(const store::RunPaths& paths, const ReportInputs& inputs) {
  const run::RunState& state = inputs.state;
  Json json = header_json(paths, inputs, kParetoFormat);
  json["hypervolume"] = hypervolume_json(state);
  json["final_front"] = Json::array();
  for (const trial::TrialNumber number : front_order(state.final_front())) {
    const run::SharedTrial mean = state.final_mean(number);  // which the front compares
    Json& member = json["final_front"].emplace_back(trial_json(paths, inputs, *state.final_training(number)));
    member["objectives"] = values_json(state.final_objectives().objectives(), *mean, inputs.metrics);
    member["constraints"] = values_json(state.final_objectives().constraints(), *mean, inputs.metrics);
    if (Json intervals = intervals_json(inputs, *mean); !intervals.empty())
      member["intervals"] = std::move(intervals);
  }
  json["search_front"] = search_front_json(paths, inputs);
  if (const auto groups = equal_networks(inputs.space, state); !groups.empty())
    json["same_networks"] = groups;
  if (Json seeds = seeds_json(inputs); !seeds.empty()) json["seeds"] = std::move(seeds);
  store::publish_file(paths.pareto_json(), text_of(json) + "\n");
}

void write_models_json(const store::RunPaths& paths, const ReportInputs& inputs) {
  std::string frame = text_of(header_json(paths, inputs, kModelsFormat));
  frame.resize(frame.rfind('\n'));  // cuts the closing brace
  store::publish_text(paths.models_json(), [&](const store::WriteText& write) {
    write(frame + ",\n  \"trials\": [");
    const char* before = "\n    ";
    for (const run::SharedTrial& committed : inputs.state.trials()) {
      write(std::exchange(before, ",\n    ") +
            text_of(shortened(trial_json(paths, inputs, *committed)), kInOneLine));
    }
    write(inputs.state.trials().empty() ? "]\n}\n" : "\n  ]\n}\n");
  });
}

}  // namespace skyline::report
