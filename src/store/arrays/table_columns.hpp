#pragma once

#include "store/arrays/csv_reader.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// The columns of a table, and what they are for.
struct TableColumns {
  bool has_names = false;          // the first row has names
  std::vector<std::string> names;  // else numbers from 1
  std::vector<std::size_t> features;
  std::vector<std::size_t> targets;
  std::optional<std::size_t> id;
  std::optional<std::size_t> group;
  std::vector<std::string> left_out;
  std::vector<std::string> notes;  // what was guessed

  /// Returns the column's name in quotes, or "column 3".
  std::string label(std::size_t column) const;
};

/// Returns whether pandas gives such a name to a column without one: "" or "Unnamed: 0".
bool is_nameless(std::string_view name);

/// Finds out what the columns are for: by the options, else by the names, else by their places. With a known
/// preparation columns are matched with it by name.
/// @throws UserError for columns that are missing, unknown or called alike
TableColumns find_columns(const std::filesystem::path& file, const TableOptions& options);

/// Returns the columns that an option names. @throws UserError for one that the table does not have
std::vector<std::size_t> columns_in(const std::string& list, std::string_view key,
                                    const TableColumns& columns, const std::filesystem::path& file);

}  // namespace skyline::store
