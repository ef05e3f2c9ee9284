#include "store/journal/trial_table.hpp"

#include "trial/refit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

namespace skyline::store {
namespace {

using trial::CellValue;
using Topic = trial::Cell::Topic;

/// Numbers give NaN, also beside null; values of different types give an empty text.
CellValue empty_value(const std::vector<space::Value>& values) {
  const auto count = [&]<typename Type>(Type /*type*/) {
    return std::ranges::count_if(values,
                                 [](const auto& value) { return std::holds_alternative<Type>(value); });
  };
  const auto integers = count(std::int64_t());
  const auto numbers = integers + count(double());
  if (count(bool()) == std::ssize(values)) return false;
  if (integers == std::ssize(values)) return std::int64_t{0};
  if (numbers > 0 && numbers + count(space::Null()) == std::ssize(values)) return std::nan("");
  return std::string();
}

}  // namespace

TrialTable::TrialTable(const space::SearchSpace& space, const std::vector<trial::Metric>& metrics)
    : space_(space), metrics_(metrics) {
  for (const space::Parameter& parameter : space.parameters())
    empty_.push_back(empty_value(parameter.values));
}

std::vector<trial::Cell> TrialTable::row(const trial::CommittedTrial& committed, bool on_front) const {
  const trial::Trial& trial = committed.trial;
  const space::Architecture& architecture = trial.architecture();
  std::vector<trial::Cell> cells;
  const auto add = [&cells](Topic topic, std::string_view name, auto value) {
    cells.push_back({topic, name, value, decltype(value)()});
  };
  add(Topic::kName, "number", static_cast<std::int64_t>(trial.number));
  add(Topic::kName, "position", static_cast<std::int64_t>(committed.position));
  add(Topic::kName, "phase", std::string(to_text(trial.phase())));
  add(Topic::kName, "final_repeat", trial::is_refit(trial) ? -1 : std::int64_t{trial.proposal.final_repeat});
  add(Topic::kArchitecture, "arch_id", space::to_text(architecture.id));
  for (std::size_t p = 0; p < empty_.size(); ++p) {
    const space::Parameter& parameter = space_.parameters()[p];
    const space::Value& value = parameter.values.at(architecture.genotype.choices.at(p));
    cells.push_back({Topic::kParameter, parameter.name, {}, empty_[p], architecture.used.at(p)});
    std::visit([&](const auto& of) { cells.back().value = of; }, value);
  }
  add(Topic::kOutcome, "status", status_of(committed));
  add(Topic::kOutcome, "reason", trial::reason_of(committed.outcome));
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    cells.push_back({Topic::kMetric, metrics_[i].name, space::Null(), std::nan("")});
    const auto* measured = std::get_if<trial::Measurements>(&committed.outcome);
    const double value = measured == nullptr ? std::nan("") : measured->values.at(i);
    if (!std::isnan(value)) cells.back().value = value;
  }
  for (const space::NamedCost& cost : space_.costs()) {
    cells.push_back({Topic::kCost, cost.name, architecture.cost.*cost.value, std::nan("")});
  }
  const auto add_known = [&](std::string_view metric) {
    const double value = architecture.given(metric).value_or(std::nan(""));
    cells.push_back({Topic::kCost, metric, value, std::nan("")});
  };
  std::ranges::for_each(space_.given(), add_known);
  std::ranges::for_each(space_.counted(), add_known);
  add(Topic::kFront, "on_front", on_front);
  trial::add_fields(cells, trial);
  trial::add_timing(cells, committed.timing);
  return cells;
}

std::vector<trial::Cell> TrialTable::columns() const {
  auto any = std::make_shared<space::Architecture>();
  any->genotype.choices.resize(empty_.size());
  any->used.resize(empty_.size());
  trial::CommittedTrial committed;
  committed.trial.proposal.architecture = std::move(any);
  committed.outcome = trial::Failure{};
  return row(committed);
}

std::string status_of(const trial::CommittedTrial& committed) {
  return std::string(trial::status_of(committed.outcome));
}

}  // namespace skyline::store
