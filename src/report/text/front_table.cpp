#include "report/text/front_table.hpp"

#include "skyline/search/pareto.hpp"

#include "core/text/wording.hpp"
#include "report/files/trial_results.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace skyline::report {
namespace {

using trial::CommittedTrial;

std::string epochs_text(const trial::Budget& budget) {
  return objective::number_text(budget.epochs) + (budget.epochs == 1 ? " epoch" : " epochs");
}

/// A search trial in the table, and the mean of its trainings with the final budget, or nullptr.
struct Row {
  run::SharedTrial searched;
  run::SharedTrial trained;
  run::SharedTrial refit;  // nullptr if there is none
  std::vector<run::SharedTrial> repeats;
  std::vector<run::SharedTrial> search_repeats;
};

struct FrontColumn {
  std::string title;
  std::string subtitle;  // budget of the column's values
  TextTable::Align align;
  std::function<std::string(const Row&)> cell;
  int rank = 0;  // see TextTable::add_column()
};

constexpr int kRankOfFurther = 1;     // rank of a metric that nothing is judged by
constexpr int kRankOfDifference = 2;  // rank of a parameter with several values
constexpr int kRankOfId = 3;
constexpr int kRankOfConstant = 4;  // rank of a parameter with one value

/// Returns the value of a training, or `-` if it has none.
std::string value_cell(const ReportInputs& inputs, const run::SharedTrial& training,
                       const std::string& metric) {
  const auto value = training == nullptr ? std::nullopt : metric_value(*training, metric, inputs.metrics);
  return value ? metric_text(described(metric, inputs.metrics, inputs.state.objectives().computed()), *value)
               : "-";
}

/// Returns the first member of the final front that dominates the training.
std::optional<trial::TrialNumber> dominator(const run::RunState& state, const CommittedTrial& training) {
  const std::vector<double> values = state.final_objectives().minimized(training).value();
  for (const trial::TrialNumber number : front_order(state.final_front())) {
    const auto member = state.final_objectives().minimized(*state.final_mean(number)).value();
    if (search::dominates(member, values)) return number;
  }
  return std::nullopt;
}

/// Says whether a row is on the final front, and if not, why.
std::string final_cell(const run::RunState& state, const Row& row) {
  if (row.trained == nullptr) return "not trained yet";
  if (state.on_final_front(row.searched->trial.number)) return "yes";
  if (failure_of(*row.trained) != nullptr) return "failed: " + status_of(*row.trained);
  if (!state.final_objectives().values(*row.trained)) return "breaks a constraint, or lacks a value";
  return "dominated by " + std::to_string(dominator(state, *row.trained).value());
}

/// Returns the budget of the search trials, or "search" if they have several budgets.
std::string search_budget_text(const std::vector<Row>& rows) {
  const trial::Budget& first = rows.front().searched->trial.budget();
  const bool same =
      std::ranges::all_of(rows, [&](const Row& row) { return row.searched->trial.budget() == first; });
  return same ? epochs_text(first) : "search";
}

/// Returns the text of a table that keeps to the bounds, with a line about the columns that it lacks.
std::string fitted(TextTable table, const TableBounds& bounds) {
  const std::size_t dropped = table.fit(bounds.columns);
  if (dropped == 0) return table.text();
  return table.text() + "without " + counted(dropped, "column") +
         (bounds.columns_with.empty() ? "" : ": " + bounds.columns_with) + "\n";
}

class FrontTable {
 public:
  FrontTable(const ReportInputs& inputs, std::vector<Row> rows) : inputs_(inputs), rows_(std::move(rows)) {
    if (const auto& budget = state().final_budget()) final_budget_ = epochs_text(*budget);
    search_budget_ = final_budget_.empty() ? "" : search_budget_text(rows_);
    add("trial", "", [](const Row& row) { return std::to_string(row.searched->trial.number); });
    if (const SourceTrials& source = inputs.source; !source.run.empty()) {
      add("trial of " + source.run, "", [&source](const Row& row) {
        const trial::TrialNumber number = row.searched->trial.number;
        return number < source.numbers.size() ? std::to_string(source.numbers[number]) : "-";
      });
    }
    add("arch id", "", [](const Row& row) { return space::to_text(architecture_of(row).id); });
    columns_.back().align = TextTable::Align::kLeft;
    columns_.back().rank = kRankOfId;
    for (std::size_t p = 0; p < inputs.space.parameters().size(); ++p) {
      add(inputs.space.parameters()[p].name, "",
          [this, p](const Row& row) { return parameter_text(inputs_.space, architecture_of(row), p, "-"); });
      columns_.back().rank = differs(columns_.back()) ? kRankOfDifference : kRankOfConstant;
    }
    for (const auto& objective : state().final_objectives().objectives()) add_metric(objective.metric);
    for (const std::string& metric : constraint_only_metrics(state().final_objectives())) add_metric(metric);
    if (final_budget_.empty()) return;
    add_tests();
    add("final front", "", [this](const Row& row) { return final_cell(state(), row); });
    columns_.back().align = TextTable::Align::kLeft;
  }

  /// @param first  number of rows above the rule; 0 for no rule
  std::string text(std::size_t first, const TableBounds& bounds) const {
    TextTable table;
    for (const FrontColumn& column : columns_) {
      table.add_column(column.title, column.align, column.subtitle, column.rank);
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i == first && i > 0) table.add_rule();
      std::vector<std::string> cells;
      for (const FrontColumn& column : columns_) cells.push_back(column.cell(rows_[i]));
      table.add_row(std::move(cells));
    }
    return fitted(std::move(table), bounds);
  }

 private:
  bool has(const std::string& title) const {
    return std::ranges::find(columns_, title, &FrontColumn::title) != columns_.end();
  }
  bool differs(const FrontColumn& column) const {
    return std::ranges::any_of(rows_,
                               [&](const Row& row) { return column.cell(row) != column.cell(rows_[0]); });
  }
  const run::RunState& state() const { return inputs_.state; }
  static const space::Architecture& architecture_of(const Row& row) {
    return row.searched->trial.architecture();
  }

  void add(std::string title, std::string subtitle, std::function<std::string(const Row&)> cell) {
    columns_.push_back({std::move(title), std::move(subtitle), TextTable::Align::kRight, std::move(cell)});
  }
  /// Returns a mean, with the deviation of the repeats in brackets.
  std::string mean_cell(const run::SharedTrial& mean, const SeedGroup& repeats,
                        const std::string& metric) const {
    const auto spread = spread_of(repeats, metric, inputs_.metrics);
    std::string text = value_cell(inputs_, mean, metric);
    if (!spread || !spread->deviation || is_computed_metric(metric, inputs_.metrics)) return text;
    return text + " (" +
           metric_text(described(metric, inputs_.metrics, state().objectives().computed()),
                       *spread->deviation) +
           ")";
  }
  void add_final(const std::string& metric) {
    add(metric, final_budget_,
        [this, metric](const Row& row) { return mean_cell(row.trained, row.repeats, metric); });
  }
  /// Adds the metrics of the test set: of the full trainings, and of the refits, whose weights are the
  /// models.
  void add_tests() {
    const trial::Metric* test = test_metric(state().objectives(), inputs_.metrics);
    if (test != nullptr && !has(test->name)) add_final(test->name);
    if (test != nullptr) add_refit(test->name, 0);
    for (const trial::Metric& metric : inputs_.metrics) {
      if (metric.of != trial::Metric::Of::kTest || has(metric.name)) continue;
      add_final(metric.name);
      columns_.back().rank = kRankOfFurther;
      add_refit(metric.name, kRankOfFurther);
    }
  }
  void add_refit(const std::string& metric, int rank) {
    if (std::ranges::none_of(rows_, [](const Row& row) { return row.refit != nullptr; })) return;
    add(metric, "refit", [this, metric](const Row& row) { return value_cell(inputs_, row.refit, metric); });
    columns_.back().rank = rank;
  }
  /// Adds a column for each phase that has the metric; the costs of a network need no budget.
  void add_metric(const std::string& metric) {
    const bool computed = is_computed_metric(metric, inputs_.metrics);
    if (described(metric, inputs_.metrics, state().objectives().computed()).when ==
        trial::Metric::When::kEveryTrial) {
      add(metric, computed ? "" : search_budget_,
          [this, metric](const Row& row) { return mean_cell(row.searched, row.search_repeats, metric); });
    }
    if (!computed && !final_budget_.empty()) add_final(metric);
  }

  const ReportInputs& inputs_;
  const std::vector<Row> rows_;
  std::string search_budget_;
  std::string final_budget_;  // empty if there are no full trainings
  std::vector<FrontColumn> columns_;
};

void add_cells(std::vector<std::string>& cells, const SeedGroup& group, const std::string& metric,
               const ReportInputs& inputs) {
  const auto spread = spread_of(group, metric, inputs.metrics);
  const trial::Metric description = described(metric, inputs.metrics, inputs.state.objectives().computed());
  cells.push_back(spread ? metric_text(description, spread->mean) : "-");
  if (description.computed) return;
  cells.push_back(spread && spread->deviation ? metric_text(description, *spread->deviation) : "-");
}

std::string trials_text(const SeedGroup& group) {
  std::string text;
  for (const run::SharedTrial& training : group) {
    text += (text.empty() ? "" : ",") + std::to_string(training->trial.number);
  }
  return text;
}

using Trials = std::vector<run::SharedTrial>;

Trials trials_of(const run::RunState& state, trial::Phase phase) {
  Trials trials;
  for (const run::SharedTrial& committed : state.trials()) {
    if (committed->trial.phase() != phase) continue;
    if (phase == trial::Phase::kFinal && committed->trial.budget() != state.final_budget()) continue;
    trials.push_back(committed);
  }
  return trials;
}

/// Returns whether the trial succeeded and has a value for each objective.
bool has_objectives(const ReportInputs& inputs, const trial::CommittedTrial& committed) {
  if (failure_of(committed) != nullptr) return false;
  return std::ranges::all_of(inputs.state.objectives_of(committed.trial).objectives(),
                             [&](const objective::Objective& one) {
                               return metric_value(committed, one.metric, inputs.metrics).has_value();
                             });
}

/// Returns what a front compares in place of a trial.
run::SharedTrial mean_of_repeats(const run::RunState& state, const run::SharedTrial& committed) {
  if (committed->trial.is_final() || state.repeats() == 1) return committed;
  return state.search_mean(state.first_repeat(committed->trial));
}

/// Returns "; `latency_ms: [0, 1]`: they have 3.20 to 45.0" for each measured constraint.
std::string constraint_values(const ReportInputs& inputs, const Trials& trials) {
  std::string text;
  for (const objective::Constraint& constraint :
       inputs.state.objectives_of(trials.front()->trial).constraints()) {
    if (constraint.computed) continue;
    std::vector<double> values;
    for (const auto& committed : trials) {
      const run::SharedTrial mean = mean_of_repeats(inputs.state, committed);
      if (const auto value = metric_value(*mean, constraint.metric, inputs.metrics)) values.push_back(*value);
    }
    if (values.empty()) continue;
    const auto [least, most] = std::ranges::minmax(values);
    const trial::Metric metric = described(constraint.metric, inputs.metrics);
    text += fmt::format("; `{}`: they have {} to {}", to_text(constraint), metric_text(metric, least),
                        metric_text(metric, most));
  }
  return text;
}

/// @param noun  word for one of the trials
std::string reason_of(const ReportInputs& inputs, const Trials& trials, const std::string& noun) {
  const auto failed = [](const auto& committed) { return failure_of(*committed) != nullptr; };
  if (trials.empty()) return fmt::format("no {} is done", noun);
  const auto outside = [](const auto& committed) { return trial::is_outside(committed->outcome); };
  if (std::ranges::all_of(trials, outside)) {
    return fmt::format("no {} was trained, because each broke a constraint before, the first one: {}", noun,
                       trial::reason_of(trials.front()->outcome));
  }
  if (std::ranges::any_of(trials, outside)) {
    Trials trained = trials;
    std::erase_if(trained, outside);
    return reason_of(inputs, trained, noun + " that was trained");
  }
  if (std::ranges::all_of(trials, failed))
    return fmt::format("every {} failed, {}", noun, usual_failure(trials));
  const bool measured =
      std::ranges::any_of(trials, [&](const auto& committed) { return has_objectives(inputs, *committed); });
  if (!measured) return fmt::format("no {} has a value for each objective", noun);
  const auto is_whole = [&](const auto& each) {
    return !each->trial.may_be_continued() && has_objectives(inputs, *each);
  };
  if (std::ranges::none_of(trials, is_whole)) {
    const auto meets_constraints = [&](const auto& each) {
      return inputs.state.objectives_of(each->trial).values(*each).has_value();
    };
    const std::string failure = usual_failure(trials);
    const std::string reason = fmt::format("no {} ended well with its full budget{}", noun,
                                           failure.empty() ? "" : "; some failed, " + failure);
    if (std::ranges::any_of(trials, meets_constraints)) return reason;
    return reason + "; none with a smaller one meets the constraints, so none went on" +
           constraint_values(inputs, trials);
  }
  return fmt::format("no {} meets the constraints{}", noun, constraint_values(inputs, trials));
}

/// Returns e.g. "`steps` has no reference point".
std::string lacking(const std::vector<std::string>& metrics, const std::string& end) {
  return joined(metrics) + (metrics.size() == 1 ? " has no " : " have no ") + end +
         (metrics.size() == 1 ? "" : "s");
}

}  // namespace

std::string front_table(const ReportInputs& inputs, const TableBounds& bounds) {
  const run::RunState& state = inputs.state;
  std::vector<Row> rows;
  const auto add = [&](trial::TrialNumber number) {
    rows.push_back({state.search_mean(number), state.final_mean(number), state.refit_of(number),
                    state.final_repeats(number), state.search_repeats(number)});
  };
  for (const trial::TrialNumber number : front_order(state.final_front())) add(number);
  const std::size_t final_members = rows.size();
  for (const trial::TrialNumber number : front_order(state.front())) {
    if (!state.on_final_front(number)) add(number);
  }
  if (rows.empty()) return "the front is empty: " + no_front_reason(inputs) + "\n";
  const std::size_t more = rows.size() - std::min(rows.size(), bounds.rows);
  rows.resize(rows.size() - more);
  const std::string table = FrontTable(inputs, std::move(rows)).text(final_members, bounds);
  if (more == 0) return table;
  return table + "and " + std::to_string(more) + " more" +
         (bounds.rows_with.empty() ? "" : ": " + bounds.rows_with) + "\n";
}

std::string seeds_table(const ReportInputs& inputs, const TableBounds& bounds) {
  const std::vector<SeedGroup> groups = seed_groups(inputs);
  if (groups.empty()) return {};
  const std::vector<std::string> metrics = judged_metrics(inputs.state.final_objectives(), inputs.metrics);
  TextTable table;
  table.add_column("trials", TextTable::Align::kLeft);
  table.add_column("arch id", TextTable::Align::kLeft, "", kRankOfId);
  for (const space::Parameter& parameter : inputs.space.parameters()) {
    table.add_column(parameter.name, TextTable::Align::kRight, "", kRankOfConstant);
  }
  for (const std::string& metric : metrics) {
    const bool computed = is_computed_metric(metric, inputs.metrics);
    table.add_column(metric, TextTable::Align::kRight, computed ? "" : "mean");
    if (!computed) table.add_column("", TextTable::Align::kRight, "deviation");
  }
  for (const SeedGroup& group : groups) {
    const space::Architecture& architecture = group.front()->trial.architecture();
    std::vector<std::string> cells{trials_text(group), space::to_text(architecture.id)};
    for (std::size_t p = 0; p < inputs.space.parameters().size(); ++p) {
      cells.push_back(parameter_text(inputs.space, architecture, p, "-"));
    }
    for (const std::string& metric : metrics) add_cells(cells, group, metric, inputs);
    table.add_row(std::move(cells));
  }
  return "\nThe full trainings of each architecture, over their seeds:\n" + fitted(std::move(table), bounds);
}

// Texts about empty fronts, and about the volumes of fronts.
std::string no_front_reason(const ReportInputs& inputs) {
  return reason_of(inputs, trials_of(inputs.state, trial::Phase::kSearch), "trial");
}

std::string no_final_front_reason(const ReportInputs& inputs) {
  return reason_of(inputs, trials_of(inputs.state, trial::Phase::kFinal), "full training");
}

std::string volume_text(const run::RunState& state) {
  std::vector<std::string> ends;
  std::vector<std::string> without;       // metrics without a reference point
  std::vector<std::string> without_best;  // metrics without a best value
  for (const objective::Objective& objective : state.objectives().objectives()) {
    if (!objective.reference) without.push_back("`" + objective.metric + "`");
    if (!objective.ideal) without_best.push_back("`" + objective.metric + "`");
    if (objective.reference && objective.ideal) {
      const bool is_log = objective.scale == objective::Scale::kLog;
      ends.push_back(objective.metric + " " + format_number(*objective.reference) +
                     (is_log ? " to " + format_number(*objective.ideal) + " (log)" : ""));
    }
  }
  std::vector<std::string> gaps;
  if (!without.empty()) gaps.push_back(lacking(without, "reference point"));
  if (!without_best.empty()) {
    const std::string both = without.size() == 1 ? "no best possible value" : "no best possible values";
    gaps.push_back(without_best == without ? both : lacking(without_best, "best possible value"));
  }
  if (!gaps.empty()) {
    return "no hypervolume: " + joined(gaps, " and ") +
           "; give a `range` where the metric is declared, a constraint, or `reference` and `ideal` in the "
           "objective";
  }
  if (!state.objectives().has_volume())
    return "no hypervolume: no architecture can be better than the reference point";
  std::string text = fmt::format("hypervolume {:.4f}", *state.volume());
  if (const auto volume = state.final_volume(); volume && state.final_budget())
    text += fmt::format(" of the search, {:.4f} of the final front", *volume);
  return text + " (of 1), measured from " + joined(ends);
}

}  // namespace skyline::report
