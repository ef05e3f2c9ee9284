#include "report/files/search_state_csv.hpp"

#include "report/files/csv.hpp"
#include "report/files/seed_groups.hpp"
#include "report/files/trial_results.hpp"
#include "store/journal/run_tables.hpp"
#include "store/publish/publish.hpp"
#include "trial/trial_fields.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

namespace skyline::report {
namespace {

constexpr double kSecondsAnHour = 3600;
constexpr std::array<const char*, 3> kFirstColumns{"archid", "arch_id", "trial"};
constexpr std::array<const char*, 3> kLastColumns{"search_walltime_hours", "is_pareto", "status"};

/// Returns the columns of a field, with Archai's names if Archai has the field.
std::vector<std::string> columns_of(const trial::NamedValue& field) {
  const std::string_view name = field.name;
  if (name == "parents") return {"parent", "parents"};
  if (name == "iteration") return {"iteration_num"};
  return {field.name};
}

/// Returns the columns after those of parameters and metrics.
std::vector<std::string> columns_of_fields() {
  std::vector<std::string> columns;
  for (const trial::NamedValue& field : trial::field_values({})) {
    std::ranges::move(columns_of(field), std::back_inserter(columns));
  }
  return columns;
}

/// The metrics that have columns.
struct MetricNames {
  std::vector<std::string> searched;  // in order: objectives, constraints, the other costs
  std::vector<std::string> repeated;  // the measured ones among them, which have means of repeats
  std::vector<std::string> full;      // measured ones that have means of full trainings
};

MetricNames metric_names(const space::SearchSpace& space, const objective::ObjectiveSet& objectives,
                         const std::vector<trial::Metric>& metrics) {
  const auto is_computed = [&](const std::string& name) { return is_computed_metric(name, metrics); };
  MetricNames names;
  for (const auto& objective : objectives.objectives()) names.searched.push_back(objective.metric);
  std::ranges::move(constraint_only_metrics(objectives), std::back_inserter(names.searched));
  std::ranges::move(other_computed_metrics(space, objectives), std::back_inserter(names.searched));
  names.repeated = names.searched;
  std::erase_if(names.repeated, is_computed);
  names.full = judged_metrics(objectives.of_full_trainings(), metrics);
  std::erase_if(names.full, is_computed);
  return names;
}

/// Returns the metrics that have columns in a run.
MetricNames metric_names(const ReportInputs& inputs) {
  MetricNames names = metric_names(inputs.space, inputs.state.objectives(), inputs.metrics);
  if (inputs.state.repeats() == 1) names.repeated.clear();
  if (!inputs.state.final_budget()) names.full.clear();
  return names;
}

constexpr std::string_view kMean = "mean_";    // begins columns of repeats
constexpr std::string_view kFinal = "final_";  // begins columns of full trainings
constexpr std::string_view kRepeats = "repeats";

/// Returns the columns with the mean of a metric and its deviation.
std::array<std::string, 2> mean_columns(std::string_view prefix, const std::string& metric) {
  const std::string mean = std::string(prefix) + metric;
  return {mean, mean + "_deviation"};
}

std::string metric_field(const ReportInputs& inputs, const trial::CommittedTrial& committed,
                         const std::string& metric) {
  const auto value = metric_value(committed, metric, inputs.metrics);
  if (!value || !std::isfinite(*value)) return "";
  return is_computed_metric(metric, inputs.metrics) ? fmt::format("{:.0f}", *value)
                                                    : fmt::format("{}", *value);
}

std::vector<std::string> final_columns(const ReportInputs& inputs) {
  if (!inputs.state.final_budget()) return {};
  std::vector<std::string> columns{"is_final_pareto", "final_epochs", fmt::format("{}{}", kFinal, kRepeats)};
  for (const std::string& metric : metric_names(inputs).full)
    std::ranges::move(mean_columns(kFinal, metric), std::back_inserter(columns));
  return columns;
}

std::vector<std::string> repeats_columns(const ReportInputs& inputs) {
  if (inputs.state.repeats() == 1) return {};
  std::vector<std::string> columns{fmt::format("{}{}", kMean, kRepeats)};
  for (const std::string& metric : metric_names(inputs).repeated)
    std::ranges::move(mean_columns(kMean, metric), std::back_inserter(columns));
  return columns;
}

/// Returns the means of the repeats of a search trial; empty fields for the repeats after the first.
std::vector<std::string> repeats_fields(const ReportInputs& inputs, const trial::Trial& trial) {
  if (inputs.state.repeats() == 1) return {};
  const bool is_first = trial.proposal.repeat == 0;
  const SeedGroup repeats = is_first ? inputs.state.search_repeats(trial.number) : SeedGroup();
  std::vector<std::string> fields{is_first ? std::to_string(repeats.size()) : ""};
  for (const std::string& metric : metric_names(inputs).repeated) {
    const auto spread = spread_of(repeats, metric, inputs.metrics);
    fields.push_back(spread ? fmt::format("{}", spread->mean) : "");
    fields.push_back(spread && spread->deviation ? fmt::format("{}", *spread->deviation) : "");
  }
  return fields;
}

/// Returns the means of the repeats of a trial's full training; empty fields if it was not trained in full.
std::vector<std::string> final_fields(const ReportInputs& inputs, trial::TrialNumber number) {
  const run::RunState& state = inputs.state;
  if (!state.final_budget()) return {};
  const SeedGroup repeats = state.final_repeats(number);
  std::vector<std::string> fields{state.on_final_front(number) ? "True" : "False"};
  fields.push_back(repeats.empty() ? "" : fmt::format("{}", state.final_budget()->epochs));
  fields.push_back(repeats.empty() ? "" : std::to_string(repeats.size()));
  for (const std::string& metric : metric_names(inputs).full) {
    const auto spread = spread_of(repeats, metric, inputs.metrics);
    fields.push_back(spread ? fmt::format("{}", spread->mean) : "");
    fields.push_back(spread && spread->deviation ? fmt::format("{}", *spread->deviation) : "");
  }
  return fields;
}

/// Returns for each iteration the hours from the start of the run until it had all its results.
std::map<std::uint32_t, double> walltime_hours(const ReportInputs& inputs) {
  std::map<std::uint32_t, double> hours;
  for (const run::SharedTrial& committed : inputs.state.trials()) {
    if (committed->trial.is_final()) continue;
    const double end_s = committed->timing.started_s + committed->timing.total_s();
    double& latest = hours[committed->trial.proposal.iteration];
    latest = std::max(latest, end_s / kSecondsAnHour);
  }
  double so_far = 0;
  for (auto& [iteration, latest] : hours) latest = so_far = std::max(so_far, latest);
  return hours;
}

/// Archai writes the id of one parent in one column, and of two in another, with a comma between.
std::vector<std::string> parent_fields(const ReportInputs& inputs, const trial::Proposal& proposal) {
  std::string ids;
  for (const trial::TrialNumber number : proposal.parents) {
    if (!ids.empty()) ids += ',';
    ids += inputs.space.archai_id(inputs.state.search_trial(number)->trial.architecture());
  }
  if (proposal.parents.size() == 1) return {ids, ""};
  return {"", ids};
}

/// Returns the text of a field. A negative value or NaN does not apply, and gives an empty field.
std::string value_text(const trial::NamedValue& field) {
  const auto text = [](const auto& value) -> std::string {
    if constexpr (std::is_signed_v<std::decay_t<decltype(value)>>) {
      if (!(value >= 0)) return "";
    }
    return fmt::format("{}", value);
  };
  return std::visit(text, field.value);
}

std::vector<std::string> header_fields(const ReportInputs& inputs, const std::vector<std::string>& metrics) {
  std::vector<std::string> fields(kFirstColumns.begin(), kFirstColumns.end());
  std::vector<std::string> after = metrics;
  std::ranges::move(columns_of_fields(), std::back_inserter(after));
  after.insert(after.end(), kLastColumns.begin(), kLastColumns.end());
  std::ranges::move(final_columns(inputs), std::back_inserter(after));
  std::ranges::move(repeats_columns(inputs), std::back_inserter(after));
  std::vector<std::string> others = fields;
  others.insert(others.end(), after.begin(), after.end());
  std::ranges::move(store::parameter_columns(inputs.space, others), std::back_inserter(fields));
  std::ranges::move(after, std::back_inserter(fields));
  return fields;
}

std::vector<std::string> trial_fields(const ReportInputs& inputs, const std::vector<std::string>& metrics,
                                      const trial::CommittedTrial& committed, double hours) {
  const trial::Trial& trial = committed.trial;
  const space::Architecture& architecture = trial.architecture();
  std::vector<std::string> fields{inputs.space.archai_id(architecture), space::to_text(architecture.id),
                                  std::to_string(trial.number)};
  for (std::size_t p = 0; p < inputs.space.parameters().size(); ++p) {
    const space::Value& value = inputs.space.parameters()[p].values[architecture.genotype.choices[p]];
    const bool is_null = std::holds_alternative<space::Null>(value);
    fields.push_back(is_null ? "" : parameter_text(inputs.space, architecture, p, ""));
  }
  for (const std::string& metric : metrics) fields.push_back(metric_field(inputs, committed, metric));
  for (const trial::NamedValue& field : trial::field_values(trial)) {
    if (std::string_view(field.name) == "parents") {
      std::ranges::move(parent_fields(inputs, trial.proposal), std::back_inserter(fields));
    } else {
      fields.push_back(value_text(field));
    }
  }
  fields.push_back(fmt::format("{:.6f}", hours));
  const bool on_front = inputs.state.on_front(trial.number);
  fields.emplace_back(on_front ? "True" : "False");  // pandas writes and reads flags like this
  fields.push_back(status_of(committed));
  std::ranges::move(final_fields(inputs, trial.number), std::back_inserter(fields));
  std::ranges::move(repeats_fields(inputs, trial), std::back_inserter(fields));
  return fields;
}

}  // namespace

std::optional<ColumnClash> find_column_clash(const space::SearchSpace& space,
                                             const objective::ObjectiveSet& objectives,
                                             const std::vector<trial::Metric>& metrics, bool has_full,
                                             bool has_repeats) {
  const MetricNames names = metric_names(space, objectives, metrics);
  std::map<std::string, std::string> owners;  // metrics by column; an empty one for the number of repeats
  for (const std::string& name : names.searched) owners.emplace(name, name);
  std::optional<ColumnClash> found;
  const auto add = [&](const std::string& column, const std::string& metric, bool is_full) {
    const auto [place, is_new] = owners.emplace(column, metric);
    if (is_new || found) return;
    const std::string& other = place->second;  // the longer name has the ending or the beginning of a mean
    found = {metric.size() > other.size() ? metric : other, column, is_full};
  };
  const auto add_means = [&](std::string_view prefix, const std::vector<std::string>& of, bool is_full) {
    add(fmt::format("{}{}", prefix, kRepeats), "", is_full);
    for (const std::string& metric : of) {
      for (const std::string& column : mean_columns(prefix, metric)) add(column, metric, is_full);
    }
  };
  if (has_full) add_means(kFinal, names.full, true);
  if (has_repeats) add_means(kMean, names.repeated, false);
  return found;
}

void write_search_state_csv(const store::RunPaths& paths, const ReportInputs& inputs) {
  const std::vector<std::string> metrics = metric_names(inputs).searched;
  const std::map<std::uint32_t, double> hours = walltime_hours(inputs);
  store::publish_text(paths.search_state_csv(), [&](const store::WriteText& write) {
    write(csv_line(header_fields(inputs, metrics)));
    for (const run::SharedTrial& committed : inputs.state.trials()) {
      if (committed->trial.is_final()) continue;
      write(
          csv_line(trial_fields(inputs, metrics, *committed, hours.at(committed->trial.proposal.iteration))));
    }
  });
}

}  // namespace skyline::report
