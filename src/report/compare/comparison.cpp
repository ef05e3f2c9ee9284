#include "report/compare/comparison.hpp"

#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"
#include "report/compare/volume_curve.hpp"
#include "report/files/search_state_csv.hpp"
#include "report/files/trial_results.hpp"
#include "report/text/front_table.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace skyline::report {
namespace {

using objective::Objective;

const run::RunState& state_of(const ComparedRun& run) {
  return run.opened->state;
}

/// Returns e.g. "from 9 to 1 (log)".
std::string box_text(const Objective& objective) {
  const auto end_text = [](const std::optional<double>& end) {
    return end ? objective::number_text(*end) : "nothing";
  };
  return "from " + end_text(objective.reference) + " to " + end_text(objective.ideal) + " (" +
         to_text(objective.scale) + ")";
}

/// Checks that the objectives are the same, with the same ends and scales: volumes of other boxes cannot be
/// compared.
void check_objectives(const ComparedRun& first, const ComparedRun& other) {
  const std::vector<Objective>& expected = state_of(first).objectives().objectives();
  const std::vector<Objective>& found = state_of(other).objectives().objectives();
  const bool same = std::ranges::equal(expected, found, [](const Objective& left, const Objective& right) {
    return left.metric == right.metric && left.sense == right.sense;
  });
  if (!same)
    throw UserError(other.name + " has other objectives than " + first.name + ": they do not compare");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (box_text(expected[i]) == box_text(found[i])) continue;
    throw UserError(other.name + " measures `" + found[i].metric + "` " + box_text(found[i]) + ", " +
                    first.name + " " + box_text(expected[i]) +
                    ": expected one space, data shape and constraints, or the same `reference`, `ideal` and "
                    "`scale` in the objective");
  }
}

/// Returns the least and the greatest value of an objective among the search trials that meet the
/// constraints, or nullopt if there is none.
std::optional<std::pair<double, double>> values_seen(const std::vector<ComparedRun>& runs,
                                                     std::size_t objective) {
  std::optional<std::pair<double, double>> seen;
  for (const ComparedRun& run : runs) {
    for (const run::SharedTrial& committed : state_of(run).trials()) {
      const auto values = state_of(run).objectives().values(*committed);
      if (committed->trial.is_final() || !values) continue;
      const double value = (*values)[objective];
      seen = {std::min(value, seen ? seen->first : value), std::max(value, seen ? seen->second : value)};
    }
  }
  return seen;
}

/// Returns the objectives with values that were seen for the ends that they lack.
/// @param names  gets the metrics of those that were completed
/// @return  empty if no box comes of it: one of them has a single value, or none that its scale can have
std::vector<Objective> completed_by_values(const std::vector<ComparedRun>& runs,
                                           std::vector<std::string>& names) {
  std::vector<Objective> objectives = state_of(runs.front()).objectives().objectives();
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    Objective& objective = objectives[i];
    const auto seen = values_seen(runs, i);
    if (!seen) return {};
    const bool minimized = objective.sense == objective::Sense::kMinimize;
    if (!objective.reference || !objective.ideal) names.push_back(objective.metric);
    if (!objective.reference) objective.reference = minimized ? seen->second : seen->first;
    if (!objective.ideal) objective.ideal = minimized ? seen->first : seen->second;
    const auto [low, high] = minimized ? std::pair(*objective.ideal, *objective.reference)
                                       : std::pair(*objective.reference, *objective.ideal);
    if (low >= high || (objective.scale == objective::Scale::kLog && low <= 0)) return {};
  }
  return objectives;
}

/// Returns the best value of an objective among the first search trials, or nullopt if none of them has one.
std::optional<double> best_of(const run::RunState& state, std::size_t objective, std::size_t trials) {
  search::RepeatedFront front(state.objectives().objectives().size(), state.repeats());
  std::size_t seen = 0;
  for (const run::SharedTrial& committed : state.trials()) {
    if (committed->trial.is_final()) continue;
    if (seen++ == trials) break;
    front.tell(state.objectives(), committed);
  }
  std::optional<double> best;
  for (std::size_t i = 0; i < front.front().size(); ++i) {
    const double value = front.front().values_of(i)[objective];
    best = std::min(best.value_or(value), value);
  }
  const bool minimized = state.objectives().objectives()[objective].sense == objective::Sense::kMinimize;
  return best && !minimized ? -*best : best;
}

/// Returns whether all searches have the same number of trials, and fronts trained in full with one budget.
bool have_equal_finals(const Comparison& comparison) {
  const auto& budget = state_of(comparison.runs.front()).final_budget();
  return budget && std::ranges::all_of(comparison.runs, [&](const ComparedRun& run) {
           const run::RunState& state = state_of(run);
           const auto is_trained = [&](trial::TrialNumber number) {
             return state.final_training(number) != nullptr;
           };
           return state.final_budget() == budget &&
                  state.committed(trial::Phase::kSearch) == comparison.trials &&
                  std::ranges::all_of(state.front().keys(), is_trained);
         });
}

/// Adds a quantity with one number per run. Adds nothing if a run lacks it.
template <typename ValueOf>
void add_quantity(Comparison& comparison, const std::string& name, const trial::Metric& metric,
                  const ValueOf& value_of) {
  Quantity quantity{name, {}, {}, {}, metric};
  for (std::size_t run = 0; run < comparison.runs.size(); ++run) {
    const std::optional<double> value = value_of(run);
    if (!value) return;
    quantity.values.push_back(*value);
  }
  std::vector<std::vector<double>> samples;
  for (const RunGroup& group : comparison.groups) {
    auto& sample = samples.emplace_back();
    for (const std::size_t run : group.runs) sample.push_back(quantity.values[run]);
    quantity.means.push_back(mean_of(sample));
  }
  for (std::size_t left = 0; left < samples.size(); ++left) {
    for (std::size_t right = left + 1; right < samples.size(); ++right) {
      quantity.tests.push_back({left, right, mann_whitney(samples[left], samples[right])});
    }
  }
  comparison.quantities.push_back(std::move(quantity));
}

constexpr const char* kSeed = "run.seed";
constexpr const char* kAlgorithm = "search.algorithm";

using Settings = std::vector<std::pair<std::string, std::string>>;  // paths and values

void add_settings(const ConfigNode& node, const std::string& path, Settings& settings) {
  if (node.is_map()) {
    for (const ConfigNode::Entry& entry : node.entries()) {
      add_settings(entry.value, path.empty() ? entry.key : path + "." + entry.key, settings);
    }
  } else if (node.is_list()) {
    for (std::size_t i = 0; i < node.items().size(); ++i) {
      add_settings(node.items()[i], path + "[" + std::to_string(i) + "]", settings);
    }
  } else {
    settings.emplace_back(path, node.is_null() ? "none" : node.as_text());
  }
}

std::string value_at(const Settings& settings, const std::string& path) {
  const auto found = std::ranges::find(settings, path, &Settings::value_type::first);
  return found == settings.end() ? "none" : found->second;
}

std::string join_values(const Settings& settings, const std::vector<std::string>& paths) {
  std::vector<std::string> values;
  for (const std::string& path : paths) values.push_back(path + "=" + value_at(settings, path));
  return joined(values);
}

/// Returns the number of different combinations of values that the groups have at these paths.
std::size_t kinds(const std::vector<Settings>& groups, const std::vector<std::string>& paths) {
  std::map<std::string, std::size_t> seen;
  for (const Settings& settings : groups) ++seen[join_values(settings, paths)];
  return seen.size();
}

/// Returns paths that tell the groups apart; each path separates some groups that those before it do not.
std::vector<std::string> telling_paths(const std::vector<Settings>& groups) {
  std::vector<std::string> chosen;
  for (const Settings& settings : groups) {
    for (const auto& [path, value] : settings) {
      const std::size_t before = kinds(groups, chosen);
      if (before == groups.size()) return chosen;
      chosen.push_back(path);
      if (kinds(groups, chosen) == before) chosen.pop_back();
    }
  }
  return chosen;
}

void check_seeds(const std::vector<ComparedRun>& runs, const RunGroup& group,
                 const std::vector<std::string>& seeds) {
  std::map<std::string, std::size_t> by_seed;
  for (const std::size_t run : group.runs) {
    const auto [same, is_new] = by_seed.emplace(seeds[run], run);
    if (is_new) continue;
    throw UserError(runs[run].name + " is the same run as " + runs[same->second].name +
                    ", configuration and seed " + seeds[run] + ": expected runs with seeds of their own");
  }
}

/// Groups runs whose identities differ only in the seed. The names of groups are the settings that tell them
/// apart, as few as possible. @throws UserError if two runs of a group have one seed
std::vector<RunGroup> group_runs(const std::vector<ComparedRun>& runs) {
  std::vector<RunGroup> groups;
  std::vector<Settings> settings_of;
  std::vector<std::string> seeds;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    Settings settings;
    add_settings(runs[run].identity, "", settings);
    seeds.push_back(value_at(settings, kSeed));
    std::erase_if(settings, [](const auto& setting) { return setting.first == kSeed; });
    // Other settings follow from the algorithm, so it gives the name where it differs.
    std::ranges::stable_partition(settings, [](const auto& setting) { return setting.first == kAlgorithm; });
    const auto same = std::ranges::find(settings_of, settings);
    const auto place = static_cast<std::size_t>(same - settings_of.begin());
    if (same == settings_of.end()) {
      settings_of.push_back(std::move(settings));
      groups.emplace_back();
    }
    groups[place].runs.push_back(run);
  }
  const std::vector<std::string> paths = telling_paths(settings_of);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].name = paths.empty() ? "all runs" : join_values(settings_of[i], paths);
    check_seeds(runs, groups[i], seeds);
  }
  return groups;
}

std::string interval_text(const Quantity& quantity, const Mean& mean) {
  if (!mean.margin) return "-";
  if (*mean.margin == 0) return "all equal";
  return metric_text(quantity.metric, mean.value - *mean.margin) + " to " +
         metric_text(quantity.metric, mean.value + *mean.margin);
}

std::string means_table(const Comparison& comparison) {
  TextTable table;
  table.add_column("", TextTable::Align::kLeft);
  table.add_column("group", TextTable::Align::kLeft);
  for (const char* title : {"runs", "mean", "95 % interval"}) table.add_column(title);
  for (const Quantity& quantity : comparison.quantities) {
    for (std::size_t group = 0; group < comparison.groups.size(); ++group) {
      const Mean& mean = quantity.means[group];
      table.add_row({group == 0 ? quantity.name : "", comparison.groups[group].name,
                     std::to_string(mean.count), metric_text(quantity.metric, mean.value),
                     interval_text(quantity, mean)});
    }
  }
  return table.text();
}

std::string tests_table(const Comparison& comparison) {
  TextTable table;
  for (const char* title : {"", "group", "against"}) table.add_column(title, TextTable::Align::kLeft);
  for (const char* title : {"U", "p"}) table.add_column(title);
  for (const Quantity& quantity : comparison.quantities) {
    for (const Quantity::Test& test : quantity.tests) {
      table.add_row({&test == &quantity.tests.front() ? quantity.name : "", comparison.groups[test.left].name,
                     comparison.groups[test.right].name, fmt::format("{}", test.result.u),
                     fmt::format("{:.4g}", test.result.p)});
    }
  }
  return table.text();
}

}  // namespace

Comparison compare_runs(std::vector<ComparedRun> runs, UnknownEnds unknown) {
  Comparison comparison;
  comparison.runs = std::move(runs);
  const ComparedRun& first = comparison.runs.front();
  comparison.trials = state_of(first).committed(trial::Phase::kSearch);
  for (const ComparedRun& run : comparison.runs) {
    check_objectives(first, run);
    const std::size_t trials = state_of(run).committed(trial::Phase::kSearch);
    if (trials == 0) throw UserError(run.name + " has no trial yet");
    comparison.trials = std::min(comparison.trials, trials);
  }
  const objective::ObjectiveSet& objectives = state_of(first).objectives();
  std::vector<Objective> completed;
  if (unknown == UnknownEnds::kSeen && !objectives.has_volume())
    completed = completed_by_values(comparison.runs, comparison.seen);
  for (const ComparedRun& run : comparison.runs) {
    comparison.curves.push_back(completed.empty()
                                    ? volume_curve(state_of(run), comparison.trials)
                                    : volume_curve_between(state_of(run), completed, comparison.trials));
  }
  comparison.groups = group_runs(comparison.runs);
  if (objectives.has_volume()) {
    const trial::Metric volume{.name = "hypervolume", .range = {0, 1}};
    add_quantity(comparison, volume.name, volume, [&](std::size_t run) {
      return std::optional(comparison.curves[run][comparison.trials - 1]);
    });
    if (have_equal_finals(comparison)) {
      add_quantity(comparison, "final hypervolume", volume,
                   [&](std::size_t run) { return state_of(comparison.runs[run]).final_volume(); });
    }
  }
  for (std::size_t i = 0; i < objectives.objectives().size(); ++i) {
    if (objectives.objectives()[i].computed) continue;
    const std::string& name = objectives.objectives()[i].metric;
    const trial::Metric metric = described(name, first.opened->header.metrics);
    add_quantity(comparison, "best " + name, metric, [&](std::size_t run) {
      return best_of(state_of(comparison.runs[run]), i, comparison.trials);
    });
  }
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = fmt::format(
      "{} in {}, compared after the first {} of each search\n\n", counted(comparison.runs.size(), "run"),
      counted(comparison.groups.size(), "group"), counted(comparison.trials, "trial"));
  text += means_table(comparison);
  if (comparison.groups.size() > 1) {
    text += "\nMann-Whitney U, two-sided, of each pair of groups\n\n" + tests_table(comparison);
  }
  const run::RunState& state = comparison.runs.front().opened->state;
  if (!state.objectives().has_volume()) text += "\n" + volume_text(state) + "\n";
  const auto is_deterministic = [](const ComparedRun& run) { return run.opened->header.deterministic; };
  if (!std::ranges::all_of(comparison.runs, is_deterministic))
    text += "\n" + std::string(kNotDeterministic) + "\n";
  return text;
}

std::string comparison_csv(const Comparison& comparison) {
  std::string text = csv_line({"quantity", "group", "against", "runs", "mean", "low", "high", "u", "p"});
  const auto number = [](double value) { return fmt::format("{}", value); };
  for (const Quantity& quantity : comparison.quantities) {
    for (std::size_t group = 0; group < comparison.groups.size(); ++group) {
      const Mean& mean = quantity.means[group];
      const std::string low = mean.margin ? number(mean.value - *mean.margin) : "";
      const std::string high = mean.margin ? number(mean.value + *mean.margin) : "";
      text += csv_line({quantity.name, comparison.groups[group].name, "", std::to_string(mean.count),
                        number(mean.value), low, high, "", ""});
    }
    for (const Quantity::Test& test : quantity.tests) {
      text += csv_line({quantity.name, comparison.groups[test.left].name, comparison.groups[test.right].name,
                        "", "", "", "", number(test.result.u), number(test.result.p)});
    }
  }
  return text;
}

std::string curves_csv(const Comparison& comparison, UnknownEnds unknown) {
  const bool names_seen = unknown == UnknownEnds::kSeen;
  std::vector<std::string> columns{"run", "group", "trial", "hypervolume"};
  if (names_seen) columns.emplace_back("seen");
  std::string text = csv_line(columns);
  for (const RunGroup& group : comparison.groups) {
    for (const std::size_t run : group.runs) {
      const std::vector<double>& curve = comparison.curves[run];
      for (std::size_t trial = 0; trial < curve.size(); ++trial) {
        std::vector<std::string> fields{comparison.runs[run].name, group.name, std::to_string(trial + 1),
                                        fmt::format("{}", curve[trial])};
        if (names_seen) fields.push_back(joined(comparison.seen));
        text += csv_line(fields);
      }
    }
  }
  return text;
}

}  // namespace skyline::report
