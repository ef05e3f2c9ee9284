#pragma once

#include "skyline/space/search_space.hpp"

#include "evaluate/table/table_options.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace skyline::evaluate {

/// The rows of a table that are genotypes of a space, in the order of the file.
struct BenchmarkRows {
  std::size_t parameters = 0;               // of the space
  std::vector<std::string> columns = {};    // of `values`
  std::vector<std::uint32_t> choices = {};  // [rows x parameters]
  std::vector<bool> empty = {};             // [rows x parameters]: no value, as for unused parameters
  std::vector<double> values = {};          // [rows x columns]; NaN where the table has no number
  std::vector<std::size_t> lines = {};      // places in the file, from 1
  std::size_t outside = 0;                  // rows that are no genotypes of the space
  std::string example_outside = {};         // the first of them
  std::size_t failed = 0;                   // rows that the rules leave out as failed
  std::size_t size() const { return lines.size(); }
  space::Genotype genotype(std::size_t row) const;
};

/// Returns the names of the columns that the metrics and times of a table need, each once.
std::vector<std::string> columns_of(const TableOptions& options);

/// Returns the column of each parameter in a table with one for each. The name of a parameter may be that of
/// another column of a run's search_state.csv, which then calls the parameter `parameter_NAME`.
/// @param header   names of the table's columns
/// @param metrics  columns that are known to be of metrics
std::vector<std::string> parameter_columns_in(const std::vector<std::string>& header,
                                              const space::SearchSpace& space,
                                              const std::vector<std::string>& metrics);

/// Words for a trial that ended well, in small letters: those of Skyline, Optuna, Ax, MLflow and W&B, SMAC,
/// NNI, Ray Tune, DeepHyper.
inline constexpr std::array kEndedWell{"ok",      "complete",  "completed",  "finished",
                                       "success", "succeeded", "terminated", "done"};

/// How rows of results are read that may have failed. A published table has no such rows.
struct RowRules {
  /// This column says in each row how it ended: `ok`, or the word of another tool (kEndedWell), if it did not
  /// fail. With an empty name none failed.
  std::string status = {};
  /// Whether a number that is infinite or above 1e150 is no value; otherwise it is refused.
  bool large_is_no_value = false;
};

/// Reads a table. @throws UserError, FaultError
BenchmarkRows read_rows(const TableOptions& options, const space::SearchSpace& space,
                        const RowRules& rules = {});

/// Returns the message that a table lacks a column, with the one that another tool calls so.
std::string no_column(const std::string& file, const std::string& name,
                      const std::vector<std::string>& header);

/// Returns the id of each row's architecture, by building all networks on as many threads as there are
/// processors. A row whose genotype is invalid has no architecture.
/// @throws UserError for a row that lacks the value of a parameter that its network uses
std::vector<std::optional<space::ArchId>> build_ids(const BenchmarkRows& rows, const std::string& file,
                                                    const space::SearchSpace& space);

/// Returns the same ids as build_ids(), from the cache of this user if an earlier process has built them. The
/// cache is a file in XDG_CACHE_HOME/skyline or ~/.cache/skyline; without such a folder there is none.
/// @param space_hash  tells the space from others
std::vector<std::optional<space::ArchId>> cached_ids(const BenchmarkRows& rows, const std::string& file,
                                                     const space::SearchSpace& space,
                                                     const std::string& space_hash);

/// The values of architectures in a table. Immutable, so any thread may use it.
class BenchmarkTable {
 public:
  /// Puts the rows of each architecture together. @param ids  by row
  BenchmarkTable(const BenchmarkRows& rows, const std::vector<std::optional<space::ArchId>>& ids,
                 RowChoice choice);

  /// Returns the values of an architecture, by column, or nullptr if it has no row.
  const double* find(space::ArchId id) const;
  std::size_t size() const { return places_.size(); }
  /// How far rows of one architecture are from each other in a column.
  struct Spread {
    std::size_t rows = 0;  // rows whose architecture has other rows
    double deviation = 0;  // standard deviation from the mean of their architecture
    double largest = 0;    // largest difference between two rows of an architecture
  };
  const std::vector<Spread>& spreads() const { return spreads_; }

 private:
  std::size_t columns_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
  std::vector<double> values_;  // [architectures x columns]
  std::vector<Spread> spreads_;
};

}  // namespace skyline::evaluate
