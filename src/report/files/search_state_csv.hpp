#pragma once

#include "skyline/objective/objective_set.hpp"

#include "report/files/trial_results.hpp"
#include "store/run_folder/run_folder.hpp"

#include <optional>
#include <string>
#include <vector>

namespace skyline::report {

/// A metric whose columns in search_state.csv would be mistaken for those of another.
struct ColumnClash {
  std::string metric;                 // the one that needs another name
  std::string column;                 // the name that two columns would have
  bool is_of_full_trainings = false;  // whether a mean of full trainings has the column, or one of repeats
};

/// Returns the first clash of the names of metrics, or nullopt if all columns of search_state.csv differ.
/// @param has_full     whether there are full trainings, and columns of their means
/// @param has_repeats  whether trials are repeated, so that there are columns of their means
std::optional<ColumnClash> find_column_clash(const objective::ObjectiveSet& objectives,
                                             const std::vector<trial::Metric>& metrics, bool has_full,
                                             bool has_repeats);

/// Writes search_state.csv: one row per search trial, with the columns that Archai writes, then parameters
/// and costs. Published whole. @throws UserError, FaultError
void write_search_state_csv(const store::RunPaths& paths, const ReportInputs& inputs);

/// Returns one line of CSV with its end (RFC 4180). Fields with a separator, a quote, a line end
/// or a blank at an end are quoted, and quotes in them are doubled. A field that is no number and begins with
/// `=`, `+`, `-`, `@`, a tab or a line end gets an apostrophe in front: spreadsheets would calculate it.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace skyline::report
