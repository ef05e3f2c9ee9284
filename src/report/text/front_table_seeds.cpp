#include "report/files/seed_groups.hpp"
#include "report/files/trial_results.hpp"
#include "report/report.hpp"
#include "report/text/front_table.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace skyline::report {
namespace {

/// Returns the objectives, the metrics of constraints, and those measured on the test set.
std::vector<std::string> shown_metrics(const ReportInputs& inputs) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const auto& objective : inputs.state.objectives().objectives()) add(objective.metric);
  for (const std::string& metric : constraint_only_metrics(inputs.state.objectives())) add(metric);
  for (const trial::Metric& metric : inputs.metrics) {
    if (metric.of == trial::Metric::Of::kTest) add(metric.name);
  }
  return names;
}

void add_cells(std::vector<std::string>& cells, const SeedGroup& group, const std::string& metric,
               const std::vector<trial::Metric>& metrics) {
  const auto spread = spread_of(group, metric, metrics);
  const trial::Metric description = described(metric, metrics);
  cells.push_back(spread ? metric_text(description, spread->mean) : "-");
  if (is_computed_metric(metric)) return;
  cells.push_back(spread && spread->deviation ? metric_text(description, *spread->deviation) : "-");
}

std::string trials_text(const SeedGroup& group) {
  std::string text;
  for (const run::SharedTrial& training : group) {
    text += (text.empty() ? "" : ",") + std::to_string(training->trial.number);
  }
  return text;
}

}  // namespace

std::string seeds_table(const ReportInputs& inputs) {
  const std::vector<SeedGroup> groups = seed_groups(inputs);
  if (groups.empty()) return {};
  const std::vector<std::string> metrics = shown_metrics(inputs);
  TextTable table;
  table.add_column("trials", TextTable::Align::kLeft);
  table.add_column("arch id", TextTable::Align::kLeft);
  for (const space::Parameter& parameter : inputs.space.parameters()) table.add_column(parameter.name);
  for (const std::string& metric : metrics) {
    const bool computed = is_computed_metric(metric);
    table.add_column(metric, TextTable::Align::kRight, computed ? "" : "mean");
    if (!computed) table.add_column("", TextTable::Align::kRight, "deviation");
  }
  for (const SeedGroup& group : groups) {
    const space::Architecture& architecture = group.front()->trial.architecture();
    std::vector<std::string> cells{trials_text(group), space::to_text(architecture.id)};
    for (std::size_t p = 0; p < inputs.space.parameters().size(); ++p) {
      cells.push_back(parameter_text(inputs.space, architecture, p, "-"));
    }
    for (const std::string& metric : metrics) add_cells(cells, group, metric, inputs.metrics);
    table.add_row(std::move(cells));
  }
  return "\nThe full trainings of each architecture, over their seeds:\n" + table.text();
}

}  // namespace skyline::report
