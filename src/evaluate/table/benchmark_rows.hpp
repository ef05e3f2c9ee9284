#pragma once

#include "skyline/space/search_space.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skyline::evaluate {

/// A column of numbers, and what its numbers must be.
struct NumberColumn {
  std::string name;
  double times = 1;         // largest factor by which a metric multiplies its numbers
  bool is_seconds = false;  // then they are above 0
  bool may_lack = false;    // then it is left out unless one column alone has the name, and no parameter's
};

/// The rows of a table that are genotypes of a space, in the order of the file.
struct BenchmarkRows {
  std::size_t parameters = 0;                              // number of the space's parameters
  std::vector<std::string> columns = {};                   // names of the columns of `values`
  std::vector<std::optional<std::uint32_t>> choices = {};  // [rows x parameters]; nullopt: an empty field
  std::vector<double> values = {};      // [rows x columns]; NaN where the table has no number
  std::vector<std::size_t> lines = {};  // places in the file, from 1
  std::size_t outside = 0;              // rows that are no genotypes of the space
  std::string example_outside = {};     // the first of them
  std::size_t failed = 0;               // rows of failed trials, which are left out

  std::size_t size() const { return lines.size(); }
  double value(std::size_t row, std::size_t column) const { return values[row * columns.size() + column]; }
  /// Returns a row's genotype. Parameters without a value have the first one.
  space::Genotype genotype(std::size_t row) const;
  /// Returns the first parameter that is used and has no value in a row, or nullopt if there is none.
  std::optional<std::size_t> lacking(std::size_t row, const std::vector<bool>& used) const;
  /// Returns whether a row has the values of all parameters that an architecture uses.
  bool is_of(std::size_t row, const space::Architecture& architecture) const;
};

/// Returns the column of each parameter. The name of a parameter may be that of another column of a run's
/// search_state.csv, which then calls the parameter `parameter_NAME`.
/// @param header   names of the table's columns
/// @param metrics  columns that are known to be of metrics
std::vector<std::string> parameter_columns_in(const std::vector<std::string>& header,
                                              const space::SearchSpace& space,
                                              const std::vector<std::string>& metrics);

/// The origin of a table.
enum class RowSource {
  kBenchmark,  // published results: a number that is infinite or above 1e150 is refused
  kTrials,     // results of a run or another tool: such a number is no value, and a column `status`, `state`,
               // `trial_status` or `job_status` says which trials failed; their rows are left out
};

/// Reads a table with a first row of names and a column for each parameter of the space.
/// @param metrics  names of other columns that are no parameter's
/// @throws UserError, FaultError
BenchmarkRows read_rows(const std::string& file, const space::SearchSpace& space,
                        const std::vector<NumberColumn>& columns, RowSource source = RowSource::kBenchmark,
                        const std::vector<std::string>& metrics = {});

}  // namespace skyline::evaluate
