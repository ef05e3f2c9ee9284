#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace skyline::store {

/// One value of a sample, made from a column of a table.
struct Feature {
  std::string column;                  // its name, or its number from 1 in a table without names
  double subtract = 0;                 // subtracted before a number becomes a float
  std::optional<double> missing = {};  // stands for a missing number; without it a missing number is refused
  bool is_missing = false;             // 1 where the number is missing, else 0
  std::optional<std::string> is = {};  // 1 where the column has this word, else 0
  std::vector<std::string> is_not = {};  // 1 where the column has none of these words, else 0

  /// Returns whether the column has words.
  bool is_word() const { return is.has_value() || !is_not.empty(); }
  /// Returns the column, and what is asked of it: "age", "age is missing", "near = bay", "near = other".
  std::string name() const;
  bool operator==(const Feature&) const = default;
};

/// A column with targets. Numbers are stored as (number - mean) / deviation.
struct TargetColumn {
  std::string column;
  double mean = 0;
  double deviation = 1;
};

/// How rows of a table become samples: kept with a data set, and applied to new rows.
struct Preparation {
  bool has_names = true;              // false: the columns are called 1, 2, ...
  std::vector<Feature> features;      // in the order of a sample's values
  std::vector<TargetColumn> targets;  // in the order of the outputs; one if the targets are classes
  std::vector<std::string> left_out;  // columns that are neither
  std::string id;                     // column with the samples' names; empty if there is none
};

/// Writes a preparation as one line of JSON (docs/internals/files.md).
std::string to_json(const Preparation& preparation);
/// Reads what to_json() wrote. @throws UserError for any other text
Preparation read_preparation(const std::string& json);

/// Returns how many different numbers there are.
std::size_t count_different(std::vector<double> values);

/// Returns how many different floats numbers become.
std::size_t count_floats(const std::vector<double>& values, double subtract = 0);

/// Returns a number to subtract from a column before its numbers become floats, if floats would merge
/// different numbers otherwise; else 0. Appends a line about what is subtracted, or about many that stay
/// merged.
/// @param label  name of the column for the line
/// @param drop  option that leaves columns out
double find_centre(const std::vector<double>& values, const std::string& label, const std::string& drop,
                   std::vector<std::string>& notes);

}  // namespace skyline::store
