#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/trial/metric.hpp"

#include <optional>
#include <string>
#include <vector>

namespace skyline::evaluate {

/// A column of a table, and the budget to which its numbers belong.
struct BudgetColumn {
  std::optional<double> epochs = {};  // nullopt: every budget
  std::string column = {};
};

/// Returns the index of the column for a budget, or nullopt if there is none.
std::optional<std::size_t> column_for(const std::vector<BudgetColumn>& columns, double epochs);

/// A metric whose values a table has.
struct TableMetric : trial::Metric {
  std::vector<BudgetColumn> columns;
  double times = 1;
  static const OptionTable<TableMetric>& table();
};

/// The value of an architecture to which several rows belong.
enum class RowChoice { kMean, kFirst };

/// Results from the table of a published benchmark.
struct TableOptions {
  std::string file;
  std::string checksum = {};  // checksum of the file; empty if there is no such file
  double epochs = 1;
  std::vector<TableMetric> metrics;
  std::vector<BudgetColumn> seconds;
  RowChoice rows = RowChoice::kMean;
  static const OptionTable<TableOptions>& table();
};

/// Refuses a budget for which no metric has a column, or one by which trials are compared has none.
/// @param place   states the budget
/// @param needed  names of the metrics by which trials with this budget are compared
/// @throws UserError
void check_budget(const TableOptions& options, const ConfigNode& place, double epochs,
                  const std::vector<std::string>& needed);

}  // namespace skyline::evaluate
