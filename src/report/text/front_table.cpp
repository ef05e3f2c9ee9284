#include "report/files/trial_results.hpp"
#include "report/report.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>

namespace skyline::report {
namespace {

/// Nothing: no full training has been done.
std::optional<TestMetric> shown_test_metric(const ReportInputs& inputs,
                                            const std::vector<const trial::CommittedTrial*>& order) {
  const bool any = std::ranges::any_of(order, [&](const trial::CommittedTrial* member) {
    return final_of(inputs.state, member->trial.number) != nullptr;
  });
  return any ? test_metric(inputs.state.objectives(), inputs.metrics) : std::nullopt;
}

std::string test_text(const ReportInputs& inputs, const trial::CommittedTrial* final_trial,
                      const std::string& metric) {
  if (final_trial == nullptr) return "-";
  if (failure_of(*final_trial) != nullptr) return status_of(*final_trial);
  const auto value = metric_value(*final_trial, metric, inputs.metrics);
  return value ? metric_text(metric, *value) : "-";
}

std::vector<std::string> front_row(const ReportInputs& inputs, const trial::CommittedTrial& member) {
  const space::Architecture& architecture = member.trial.architecture();
  std::vector<std::string> row{std::to_string(member.trial.number), space::to_text(architecture.id)};
  for (std::size_t p = 0; p < inputs.space.parameters().size(); ++p) {
    row.push_back(parameter_text(inputs.space, architecture, p, "-"));
  }
  const auto values = inputs.state.objectives().values(member);
  const auto& objectives = inputs.state.objectives().objectives();
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    row.push_back(metric_text(objectives[i].metric, (*values)[i]));
  }
  for (const std::string& metric : constraint_only_metrics(inputs.state.objectives())) {
    const auto value = metric_value(member, metric, inputs.metrics);
    row.push_back(value ? metric_text(metric, *value) : "-");
  }
  return row;
}

/// Whether the trial succeeded with a value for each objective.
bool has_objectives(const ReportInputs& inputs, const trial::CommittedTrial& committed) {
  if (failure_of(committed) != nullptr) return false;
  return std::ranges::all_of(inputs.state.objectives().objectives(), [&](const objective::Objective& one) {
    return metric_value(committed, one.metric, inputs.metrics).has_value();
  });
}

}  // namespace

std::string no_front_reason(const ReportInputs& inputs) {
  const std::vector<run::SharedTrial>& trials = inputs.state.trials();
  if (trials.empty()) return "no trial is done";
  if (inputs.state.failed() == trials.size()) return "every trial failed (the log says why)";
  const bool measured = std::ranges::any_of(
      trials, [&](const run::SharedTrial& committed) { return has_objectives(inputs, *committed); });
  return measured ? "no trial meets the constraints" : "no trial has a value for each objective";
}

std::string front_table(const ReportInputs& inputs) {
  const std::vector<const trial::CommittedTrial*> order = front_order(inputs.state);
  if (order.empty()) return "the front is empty: " + no_front_reason(inputs) + "\n";

  const std::optional<TestMetric> test = shown_test_metric(inputs, order);
  TextTable table;
  table.add_column("trial");
  table.add_column("arch id", TextTable::Align::kLeft);
  for (const auto& parameter : inputs.space.parameters()) table.add_column(parameter.name);
  for (const auto& objective : inputs.state.objectives().objectives()) table.add_column(objective.metric);
  for (const std::string& metric : constraint_only_metrics(inputs.state.objectives()))
    table.add_column(metric);
  if (test) table.add_column(test->name);
  for (const trial::CommittedTrial* member : order) {
    std::vector<std::string> row = front_row(inputs, *member);
    if (test) row.push_back(test_text(inputs, final_of(inputs.state, member->trial.number), test->name));
    table.add_row(std::move(row));
  }
  return table.text();
}

}  // namespace skyline::report
