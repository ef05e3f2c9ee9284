#pragma once

#include "skyline/core/config_node.hpp"

#include "report/compare/statistics.hpp"
#include "run/opened_run.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace skyline::report {

struct ComparedRun {
  const run::OpenedRun* opened = nullptr;  // must outlive the comparison
  ConfigNode identity;                     // the part of its configuration that determines the run
  std::string name = {};                   // the name that is shown, e.g. of its folder
};

/// Runs that differ only in their seed.
struct RunGroup {
  std::string name;               // settings that other groups do not have: "search.algorithm=random"
  std::vector<std::size_t> runs;  // indices into Comparison::runs
};

/// A number that each run has, with its statistics.
struct Quantity {
  struct Test {
    std::size_t left = 0;  // index of a group
    std::size_t right = 0;
    RankTest result;
  };
  std::string name;            // e.g. "hypervolume", "final hypervolume", "best validation_accuracy"
  std::vector<double> values;  // one per run
  std::vector<Mean> means;     // one per group
  std::vector<Test> tests;     // one per pair of groups
  trial::Metric metric = {};   // metric of the values; a share for a volume
};

/// Runs side by side, grouped by the differences of their configurations besides the seed.
struct Comparison {
  std::vector<ComparedRun> runs;
  std::vector<std::vector<double>> curves;  // volume_curve() of each run; empty without a volume
  std::vector<std::string> seen;            // objectives whose ends are values that these runs have seen
  std::vector<RunGroup> groups;             // ordered by their first runs
  std::size_t trials = 0;  // number of search trials that all runs have, and that are compared
  std::vector<Quantity> quantities;
};

/// What stands for an end that an objective lacks.
enum class UnknownEnds { kNothing, kSeen };

/// Groups the runs and compares the fronts of their searches after the number of trials that all have; also
/// final fronts, if all runs have one with the same budget.
/// @param unknown  kSeen: the worst or the best value of these runs, for their curves alone, since further
///                 runs would move it
/// @throws UserError if a run has no trial, if runs have other objectives or reference points, or if two have
///         the same configuration and seed
Comparison compare_runs(std::vector<ComparedRun> runs, UnknownEnds unknown = UnknownEnds::kNothing);

/// Returns means with intervals and tests, as tables for people.
std::string comparison_text(const Comparison& comparison);
/// Returns the same as CSV: one line per quantity and group, and per quantity and pair of groups.
std::string comparison_csv(const Comparison& comparison);
/// Returns the hypervolume of each run after each of its trials, as CSV.
/// @param unknown  kSeen: a further column names the objectives whose ends were seen
std::string curves_csv(const Comparison& comparison, UnknownEnds unknown = UnknownEnds::kNothing);

}  // namespace skyline::report
