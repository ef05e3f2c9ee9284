#include "report/files/search_state_csv.hpp"

#include "report/files/trial_results.hpp"
#include "store/journal/run_tables.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

namespace skyline::report {
namespace {

/// Returns whether a spreadsheet would calculate the field instead of showing it.
bool is_formula(std::string_view text) {
  if (text.size() < 2 || text.find_first_of("=+-@\t\r") != 0) return false;  // a sign alone is none
  if (text.starts_with('+')) text.remove_prefix(1);                          // from_chars takes none
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error != std::errc() || end != text.data() + text.size();
}

std::string csv_field(std::string_view text) {
  if (is_formula(text)) return csv_field("'" + std::string(text));
  const bool has_outer_blanks = text.starts_with(' ') || text.ends_with(' ');  // readers may remove them
  if (!has_outer_blanks && text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + '"';
}

constexpr double kSecondsAnHour = 3600;
constexpr std::string_view kMean = "mean_";    // begins columns of repeats
constexpr std::string_view kFinal = "final_";  // begins columns of full trainings

using Topic = trial::Cell::Topic;

/// The metrics that have columns.
struct MetricNames {
  std::vector<std::string> searched;  // in order: objectives, constraints, the other costs
  std::vector<std::string> repeated;  // the measured ones among them, which have means of repeats
  std::vector<std::string> full;      // measured ones that have means of full trainings
};

MetricNames metric_names(const objective::ObjectiveSet& objectives,
                         const std::vector<trial::Metric>& metrics) {
  const auto is_computed = [&](const std::string& name) { return is_computed_metric(name, metrics); };
  MetricNames names;
  for (const auto& objective : objectives.objectives()) names.searched.push_back(objective.metric);
  std::ranges::move(constraint_only_metrics(objectives), std::back_inserter(names.searched));
  std::ranges::move(other_computed_metrics(objectives), std::back_inserter(names.searched));
  names.repeated = names.searched;
  std::erase_if(names.repeated, is_computed);
  names.full = judged_metrics(objectives.of_full_trainings(), metrics);
  std::erase_if(names.full, is_computed);
  return names;
}

std::string metric_field(const ReportInputs& inputs, const trial::CommittedTrial& committed,
                         const std::string& metric) {
  const auto value = metric_value(committed, metric, inputs.metrics);
  if (!value || !std::isfinite(*value)) return "";
  const bool is_exact = is_computed_metric(metric, inputs.metrics) && is_integer(*value);
  return is_exact ? fmt::format("{:.0f}", *value) : fmt::format("{}", *value);
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

std::string flag_text(bool flag) {
  return flag ? "True" : "False";  // pandas writes and reads flags like this
}

/// Returns the text of a cell, which is empty for Null and for a parameter that the network does not use.
std::string cell_text(const trial::Cell& cell) {
  const auto text = [&]<typename Value>(const Value& value) -> std::string {
    if constexpr (std::is_same_v<Value, space::Null>) return "";
    if constexpr (std::is_constructible_v<space::Value, Value>) {
      if (cell.topic == Topic::kParameter) return space::to_text(value);
    }
    if constexpr (std::is_same_v<Value, space::Sides>) return space::to_text(value);
    if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>)
      return fmt::format("{}", value);
  };
  return cell.used ? std::visit(text, cell.value) : "";
}

/// Archai writes the id of one parent in one column, and of two in another, with a comma between.
std::string parents_text(const ReportInputs& inputs, const trial::Proposal& proposal, bool is_of_one) {
  std::string ids;
  if ((proposal.parents.size() == 1) != is_of_one) return ids;
  for (const trial::TrialNumber number : proposal.parents) {
    if (!ids.empty()) ids += ',';
    ids += inputs.space.archai_id(inputs.state.search_trial(number)->trial.architecture());
  }
  return ids;
}

/// Calls add(name, metric, text) for the number of the trainings of a group, then for mean and deviation of
/// each metric; text() returns the field.
/// @param described  metrics of Measurements::values
template <typename Add>
void add_means(std::string_view prefix, const std::vector<std::string>& metrics, const SeedGroup& group,
               const std::vector<trial::Metric>& described, const Add& add) {
  const auto number_text = [](const std::optional<double>& number) {
    return number ? fmt::format("{}", *number) : "";
  };
  add(fmt::format("{}repeats", prefix), "",
      [&] { return group.empty() ? "" : std::to_string(group.size()); });
  for (const std::string& metric : metrics) {
    const std::string mean = fmt::format("{}{}", prefix, metric);
    const auto spread = spread_of(group, metric, described);
    add(mean, metric, [&] { return spread ? number_text(spread->mean) : ""; });
    add(mean + "_deviation", metric, [&] { return spread ? number_text(spread->deviation) : ""; });
  }
}

/// What all lines of a run's file share.
struct Lines {
  const ReportInputs& inputs;
  store::TrialTable table{inputs.space, inputs.metrics};
  MetricNames metrics = metric_names(inputs.state.objectives(), inputs.metrics);
  std::map<std::uint32_t, double> hours = walltime_hours(inputs);
};

/// Calls add(name, text) for each column; text() returns the field of the trial.
/// @param committed  nullptr for the names alone; text() cannot be called then
template <typename Add>
void for_each_column(const Lines& lines, const trial::CommittedTrial* committed, const Add& add) {
  const ReportInputs& inputs = lines.inputs;
  const MetricNames& metrics = lines.metrics;
  const run::RunState& state = inputs.state;
  const std::vector<trial::Cell> cells =
      committed != nullptr ? lines.table.row(*committed) : lines.table.columns();
  const trial::Trial none = {};
  const trial::Trial& trial = committed != nullptr ? committed->trial : none;
  add("archid", [&] { return inputs.space.archai_id(trial.architecture()); });
  add("arch_id", [&] { return space::to_text(trial.architecture().id); });
  add("trial", [&] { return std::to_string(trial.number); });
  for (const trial::Cell& cell : cells) {
    if (cell.topic == Topic::kParameter) add(std::string(cell.name), [&] { return cell_text(cell); });
  }
  for (const std::string& metric : metrics.searched)
    add(metric, [&] { return metric_field(inputs, *committed, metric); });
  for (const trial::Cell& cell : cells) {
    if (cell.topic != Topic::kField) continue;
    if (cell.name == "parents") {
      add("parent", [&] { return parents_text(inputs, trial.proposal, true); });
      add("parents", [&] { return parents_text(inputs, trial.proposal, false); });
    } else {
      const bool is_iteration = cell.name == "iteration";  // Archai's name
      add(is_iteration ? "iteration_num" : std::string(cell.name), [&] { return cell_text(cell); });
    }
  }
  add("search_walltime_hours",
      [&] { return fmt::format("{:.6f}", lines.hours.at(trial.proposal.iteration)); });
  add("is_pareto", [&] { return flag_text(state.on_front(trial.number)); });
  add("status", [&] { return status_of(*committed); });
  const auto add_mean = [&](const std::string& name, const std::string& /*metric*/, const auto& text) {
    add(name, text);
  };
  if (const auto& budget = state.final_budget()) {
    const SeedGroup repeats = committed != nullptr ? state.final_repeats(trial.number) : SeedGroup();
    add("is_final_pareto", [&] { return flag_text(state.on_final_front(trial.number)); });
    add("final_epochs", [&] { return repeats.empty() ? "" : fmt::format("{}", budget->epochs); });
    add_means(kFinal, metrics.full, repeats, inputs.metrics, add_mean);
  }
  if (state.repeats() > 1) {
    const bool is_first = committed != nullptr && trial.proposal.repeat == 0;
    const SeedGroup repeats = is_first ? state.search_repeats(trial.number) : SeedGroup();
    add_means(kMean, metrics.repeated, repeats, inputs.metrics, add_mean);
  }
}

/// Returns the names of the columns. A parameter with the name of another column gets a prefix.
std::vector<std::string> column_names(const Lines& lines) {
  constexpr std::ptrdiff_t kFirstParameter = 3;
  std::vector<std::string> names;
  for_each_column(lines, nullptr,
                  [&](const std::string& name, const auto& /*text*/) { names.push_back(name); });
  const auto begin = names.begin() + kFirstParameter;
  const auto end = begin + std::ssize(lines.inputs.space.parameters());
  std::vector<std::string> others(names.begin(), begin);
  others.insert(others.end(), end, names.end());
  std::ranges::move(store::parameter_columns(lines.inputs.space, others), begin);
  return names;
}

}  // namespace

std::optional<ColumnClash> find_column_clash(const objective::ObjectiveSet& objectives,
                                             const std::vector<trial::Metric>& metrics, bool has_full,
                                             bool has_repeats) {
  const MetricNames names = metric_names(objectives, metrics);
  std::map<std::string, std::string> owners;  // metrics by column; an empty one for the number of repeats
  for (const std::string& name : names.searched) owners.emplace(name, name);
  std::optional<ColumnClash> found;
  const auto add = [&](const std::string& column, const std::string& metric, const auto& /*text*/) {
    const auto [place, is_new] = owners.emplace(column, metric);
    if (is_new || found) return;
    const std::string& other = place->second;  // the longer name has the ending or the beginning of a mean
    found = {metric.size() > other.size() ? metric : other, column, column.starts_with(kFinal)};
  };
  if (has_full) add_means(kFinal, names.full, {}, metrics, add);
  if (has_repeats) add_means(kMean, names.repeated, {}, metrics, add);
  return found;
}

void write_search_state_csv(const store::RunPaths& paths, const ReportInputs& inputs) {
  const Lines lines{inputs};
  store::publish_text(paths.search_state_csv(), [&](const store::WriteText& write) {
    write(csv_line(column_names(lines)));
    for (const run::SharedTrial& committed : inputs.state.trials()) {
      if (committed->trial.is_final()) continue;
      std::vector<std::string> fields;
      for_each_column(lines, committed.get(),
                      [&](const std::string& /*name*/, const auto& text) { fields.push_back(text()); });
      write(csv_line(fields));
    }
  });
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) line += ',';
    line += csv_field(field);
  }
  return line + '\n';
}

}  // namespace skyline::report
