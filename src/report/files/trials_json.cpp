#include "report/files/trials_json.hpp"

#include "report/files/answers.hpp"
#include "report/files/trial_results.hpp"
#include "store/journal/run_tables.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

namespace skyline::report {
namespace {

using Topic = trial::Cell::Topic;

constexpr int kParetoFormat = 3;
constexpr int kModelsFormat = 4;

/// Whole numbers of computed metrics are exact integers. NaN and infinity become null, because JSON lacks
/// them.
Json metric_json(std::string_view metric, std::optional<double> value,
                 const std::vector<trial::Metric>& metrics) {
  if (!value || !std::isfinite(*value)) return nullptr;
  if (is_computed_metric(metric, metrics) && is_integer(*value)) return static_cast<std::int64_t>(*value);
  return *value;
}

/// A run whose trials are written.
struct Run {
  const store::RunPaths& paths;
  const ReportInputs& inputs;
  store::TrialTable table{inputs.space, inputs.metrics};
};

Json header_json(const Run& run, int format) {
  const ReportInputs& inputs = run.inputs;
  const objective::ObjectiveSet& objectives = inputs.state.objectives();
  Json json{{"format", format},
            {"run", run_name(run.paths)},
            {"objectives", objectives_json(objectives)},
            {"constraints", constraints_json(objectives)}};
  if (objectives.has_more_for_full_trainings()) {
    json["final_objectives"] = objectives_json(objectives.of_full_trainings());
    json["final_constraints"] = constraints_json(objectives.of_full_trainings());
  }
  json["yardsticks"] = baselines_json(inputs.baselines);
  return json;
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

void add_status(Json& json, const trial::CommittedTrial& committed) {
  const std::string reason = trial::reason_of(committed.outcome);
  json["status"] = status_of(committed);
  json["reason"] = failure_of(committed) == nullptr && reason.empty() ? Json(nullptr) : Json(reason);
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

void add_weights(Json& json, const Run& run, const trial::CommittedTrial& committed) {
  if (failure_of(committed) != nullptr) return;  // only an earlier training can have a file
  if (is_outdated(run.inputs.state, committed)) return;
  const std::filesystem::path file = run.paths.weights(committed.trial.name());
  if (store::exists(file)) json["weights"] = file.lexically_relative(run.paths.root).string();
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
  json["repeats"] = repeats_json(repeats, inputs.metrics);
}

/// Returns what a further training of a search trial measured.
Json training_json(const Run& run, const trial::CommittedTrial& committed) {
  Json json;
  store::add_fields(json, committed.trial);
  add_status(json, committed);
  json["on_front"] = run.inputs.state.on_its_front(committed.trial);
  json.update(cells_json(run.table.row(committed), Topic::kMetric));
  add_weights(json, run, committed);
  add_repeats(json, run.inputs, committed.trial);
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

Json trial_json(const Run& run, const trial::CommittedTrial& committed) {
  const ReportInputs& inputs = run.inputs;
  const trial::Trial& trial = committed.trial;
  const space::Architecture& architecture = trial.architecture();
  const objective::ObjectiveSet& objectives = inputs.state.objectives_of(trial);
  const std::vector<trial::Cell> cells = run.table.row(committed);
  Json json{{"trial", trial.number},
            {"arch_id", space::to_text(architecture.id)},
            {"archai_id", inputs.space.archai_id(architecture)},
            {"parameters", cells_json(cells, Topic::kParameter)},
            {"objectives", values_json(objectives.objectives(), committed, inputs.metrics)},
            {"constraints", values_json(objectives.constraints(), committed, inputs.metrics)},
            {"costs", cells_json(cells, Topic::kCost)},
            {"metrics", cells_json(cells, Topic::kMetric)},
            {"phase", trial::to_text(trial.phase())}};
  if (json["costs"].empty()) json.erase("costs");
  store::add_fields(json, trial);
  add_status(json, committed);
  json["on_front"] = inputs.state.on_its_front(trial);
  add_weights(json, run, committed);
  add_repeats(json, inputs, trial);
  const run::SharedTrial full_training = final_of(inputs.state, trial.number);
  if (!trial.is_final() && full_training != nullptr) json["final"] = training_json(run, *full_training);
  const bool is_compared = trial.proposal.final_repeat == 0;
  if (const run::SharedTrial refit = is_compared ? inputs.state.refit_of(trial.number) : nullptr)
    json["refit"] = training_json(run, *refit);
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
Json seeds_json(const Run& run) {
  Json list = Json::array();
  for (const SeedGroup& group : seed_groups(run.inputs)) {
    const trial::CommittedTrial& first = *group.front();
    Json trials = Json::array();
    for (const run::SharedTrial& training : group) trials.push_back(training->trial.number);
    list.push_back({{"arch_id", space::to_text(first.trial.architecture().id)},
                    {"parameters", cells_json(run.table.row(first), Topic::kParameter)},
                    {"trials", std::move(trials)},
                    {"metrics", spreads_json(group, run.inputs.metrics)}});
  }
  return list;
}

/// Adds the 95 % intervals of what a training, or the mean of its repeats, has, where samples bound it.
void add_intervals(Json& json, const ReportInputs& inputs, const trial::CommittedTrial& committed) {
  for (const trial::Metric& metric : inputs.metrics) {
    if (const auto bound = sample_bound(inputs, committed, metric.name))
      json["intervals"][metric.name] = {number_json(bound->interval.low), number_json(bound->interval.high)};
  }
}

Json search_front_json(const Run& run) {
  const run::RunState& state = run.inputs.state;
  Json list = Json::array();
  for (const trial::TrialNumber number : front_order(state.front())) {
    const run::SharedTrial searched = state.search_mean(number);
    add_intervals(list.emplace_back(trial_json(run, *searched)), run.inputs, *searched);
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
  trial::CommittedTrial any;
  any.trial.proposal.architecture = std::make_shared<const space::Architecture>(architecture);
  const std::vector<trial::Metric> none;
  const std::vector<trial::Cell> cells = store::TrialTable(space, none).row(any);
  const Json json{{"arch_id", space::to_text(architecture.id)},
                  {"archai_id", space.archai_id(architecture)},
                  {"parameters", cells_json(cells, Topic::kParameter)},
                  {"input", {network.input.channels, network.input.height, network.input.width}},
                  {"costs", cells_json(cells, Topic::kCost)},
                  {"layers", layers_json(network)}};
  return text_of(json) + "\n";
}

std::string front_json(const store::RunPaths& paths, const ReportInputs& inputs) {
  return text_of(search_front_json({paths, inputs})) + "\n";
}

void write_pareto_json(const store::RunPaths& paths, const ReportInputs& inputs) {
  const Run run{paths, inputs};
  const run::RunState& state = inputs.state;
  Json json = header_json(run, kParetoFormat);
  json["hypervolume"] = hypervolume_json(state);
  json["final_front"] = Json::array();
  for (const trial::TrialNumber number : front_order(state.final_front())) {
    const run::SharedTrial mean = state.final_mean(number);  // the front compares means
    Json& member = json["final_front"].emplace_back(trial_json(run, *state.final_training(number)));
    member["objectives"] = values_json(state.final_objectives().objectives(), *mean, inputs.metrics);
    member["constraints"] = values_json(state.final_objectives().constraints(), *mean, inputs.metrics);
    add_intervals(member, inputs, *mean);
  }
  json["search_front"] = search_front_json(run);
  if (const auto groups = equal_networks(inputs.space, state); !groups.empty())
    json["same_networks"] = groups;
  if (Json seeds = seeds_json(run); !seeds.empty()) json["seeds"] = std::move(seeds);
  store::publish_file(paths.pareto_json(), text_of(json) + "\n");
}

void write_models_json(const store::RunPaths& paths, const ReportInputs& inputs) {
  const Run run{paths, inputs};
  std::string frame = text_of(header_json(run, kModelsFormat));
  frame.resize(frame.rfind('\n'));  // cuts the closing brace
  store::publish_text(paths.models_json(), [&](const store::WriteText& write) {
    write(frame + ",\n  \"trials\": [");
    const char* before = "\n    ";
    for (const run::SharedTrial& committed : inputs.state.trials()) {
      write(std::exchange(before, ",\n    ") + text_of(shortened(trial_json(run, *committed)), kInOneLine));
    }
    write(inputs.state.trials().empty() ? "]\n}\n" : "\n  ]\n}\n");
  });
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

Json baselines_json(const std::vector<trial::Baseline>& baselines) {
  Json json = Json::object();
  for (const trial::Baseline& baseline : baselines) {
    Json& facts = json[baseline.metric] = Json::object();
    if (baseline.samples) facts["samples"] = *baseline.samples;
    if (baseline.scored) facts["scored"] = *baseline.scored;
    if (baseline.constant) facts["constant"] = number_json(baseline.constant);
  }
  return json;
}

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

Json repeats_json(const SeedGroup& repeats, const std::vector<trial::Metric>& metrics) {
  const auto failed =
      std::ranges::count_if(repeats, [](const auto& each) { return failure_of(*each) != nullptr; });
  return {{"count", repeats.size()}, {"failed", failed}, {"metrics", spreads_json(repeats, metrics)}};
}

Json cells_json(const std::vector<trial::Cell>& cells, trial::Cell::Topic topic) {
  Json json = Json::object();
  for (const trial::Cell& cell : cells) {
    if (cell.topic != topic) continue;
    const auto value = [&]<typename Value>(const Value& of) -> Json {
      if constexpr (std::is_same_v<Value, space::Null>) return nullptr;
      if constexpr (std::is_same_v<Value, double>) {
        if (topic == trial::Cell::Topic::kCost && is_integer(of)) return static_cast<std::int64_t>(of);
        return topic == trial::Cell::Topic::kParameter ? store::encode_number(of) : number_json(of);
      }
      if constexpr (!std::is_same_v<Value, space::Null>) return of;
    };
    json[std::string(cell.name)] = cell.used ? std::visit(value, cell.value) : Json(nullptr);
  }
  return json;
}

}  // namespace skyline::report
