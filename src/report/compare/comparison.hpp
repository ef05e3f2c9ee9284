#pragma once

#include "skyline/core/config_node.hpp"

#include "report/compare/statistics.hpp"
#include "run/opened_run.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace skyline::report {

/// A run to be compared with others.
struct ComparedRun {
  const run::OpenedRun* opened = nullptr;  // outlives the comparison
  ConfigNode identity;                     // the part of its configuration that makes the run
  std::string name = {};                   // as it is shown, e.g. its folder
};

/// Runs that differ in their seed alone.
struct RunGroup {
  std::string name;               // what tells it from the others: "search.algorithm=random"
  std::vector<std::size_t> runs;  // places in Comparison::runs
};

/// A number that each run has.
struct Quantity {
  struct Test {
    std::size_t left = 0;  // groups
    std::size_t right = 0;
    RankTest result;
  };
  std::string name;            // "hypervolume", "final hypervolume", "best validation_accuracy"
  std::vector<double> values;  // by run
  std::vector<Mean> means;     // by group
  std::vector<Test> tests;     // of each pair of groups
  trial::Metric metric = {};   // whose values they are; of a volume, a share
};

/// Runs side by side, by seeds and by what differs in their configurations.
struct Comparison {
  std::vector<ComparedRun> runs;
  std::vector<std::vector<double>> curves;  // by run: volume_curve(); each empty if there is no volume
  std::vector<RunGroup> groups;             // in the order of their first runs
  std::size_t trials = 0;                   // of the search that all runs have: those are compared
  std::vector<Quantity> quantities;
};

/// Groups the runs and compares the fronts of their searches after as many trials as all have; final fronts
/// if all runs have one of the same budget.
/// @throws UserError if there is a run without a trial, if runs have other objectives or reference points, or
/// if two are the same run: one configuration and seed
Comparison compare_runs(std::vector<ComparedRun> runs);

/// Means with intervals and tests, as tables for people.
std::string comparison_text(const Comparison& comparison);
/// The same as CSV: one line per quantity and group, and per quantity and pair of groups.
std::string comparison_csv(const Comparison& comparison);
/// The hypervolume of each run after each of its trials, as CSV.
std::string curves_csv(const Comparison& comparison);

}  // namespace skyline::report
