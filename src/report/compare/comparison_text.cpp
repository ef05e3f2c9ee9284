#include "core/text/wording.hpp"
#include "report/compare/comparison.hpp"
#include "report/files/search_state_csv.hpp"
#include "report/report.hpp"
#include "report/text/front_table.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace skyline::report {
namespace {

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
