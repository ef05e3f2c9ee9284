#pragma once

#include "skyline/space/genotype.hpp"
#include "skyline/trial/trial.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace skyline::trial {

/// The only list of a trial's fields besides its name and its architecture. Calls `visit(name, fields...)`
/// for each field, with that of every given trial, in a fixed order. MPI records, journal lines, provenance,
/// tables and comparisons use it, so that a new field is one line here if they know its type.
/// @param trials  one or more, constant or not
template <typename Visitor, typename... Trials>
void for_each_field(Visitor&& visit, Trials&... trials) {
  visit("origin", trials.proposal.origin...);
  visit("iteration", trials.proposal.iteration...);
  visit("parents", trials.proposal.parents...);
  visit("start", trials.proposal.start...);
  visit("epochs", trials.proposal.budget.epochs...);
  visit("horizon", trials.proposal.horizon.epochs...);
  visit("members", trials.members...);
  visit("repeat", trials.proposal.repeat...);
  visit("cost", trials.cost...);
  visit("seed", trials.seed...);
}

/// Returns whether files state the field only if it is not 0, because files of earlier versions lack it.
constexpr bool is_stated_if_set(std::string_view field) {
  return field == "repeat" || field == "any_order";
}

/// Does the same for where and when a trial ran, as far as it is recorded.
template <typename Visitor, typename... Timings>
void for_each_timing(Visitor&& visit, Timings&... timings) {
  visit("rank", timings.rank...);
  visit("slot", timings.slot...);
  visit("started_s", timings.started_s...);
  visit("setup_s", timings.setup_s...);
  visit("train_s", timings.train_s...);
  visit("validate_s", timings.validate_s...);
  visit("latency_s", timings.latency_s...);
  visit("wait_files_s", timings.wait_files_s...);
  visit("wait_ranks_s", timings.wait_ranks_s...);
  visit("any_order", timings.any_order...);
}

/// A field in which two trials differ, with both values as texts, which also differ.
struct FieldDifference {
  std::string name;
  std::string left;
  std::string right;
};

/// Returns the first field that differs, or nullopt if all are equal. Repetitions differ in their seeds,
/// since journals of earlier versions say nothing else about them.
std::optional<FieldDifference> first_difference(const Trial& left, const Trial& right);

/// The value of a cell; Null if the trial has none.
using CellValue =
    std::variant<std::int64_t, std::uint64_t, double, std::string, bool, space::Null, space::Sides>;

/// A cell of a table of trials.
struct Cell {
  enum class Topic { kName, kArchitecture, kParameter, kOutcome, kMetric, kCost, kFront, kField, kTiming };

  Topic topic = Topic::kField;
  std::string_view name;  // name of the column; valid as long as what it names
  CellValue value;
  CellValue none;    // stands for Null in files that know none, and has the type of the column
  bool used = true;  // false for a parameter on which the trial's network does not depend
};

/// Appends the fields of a trial, always with the same names and types. Parents are a text with spaces
/// between them. The start is inherited_from, inherited_share and continued_from, Null if they do not apply.
/// A trial that continues one which inherited has all three.
void add_fields(std::vector<Cell>& cells, const Trial& trial);
/// Appends where and when a trial ran, in the same way.
void add_timing(std::vector<Cell>& cells, const TrialTiming& timing);

/// Returns whether tables of results (run.h5, search_state.csv) or points of learning curves have a column of
/// this name for every run, so that it is no name for a metric.
bool is_column_name(std::string_view name);

}  // namespace skyline::trial
