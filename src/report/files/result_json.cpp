#include "report/files/result_json.hpp"

#include "report/files/trial_results.hpp"
#include "store/journal/trial_json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

namespace skyline::report {

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
