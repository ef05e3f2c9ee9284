#pragma once

#include "store/arrays/table_columns.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace skyline::store {

/// Returns whether a text stands for a missing value, as pandas and the UCI archive write it: "", "NA", "?".
bool is_missing_word(const std::string& text);
/// Reads a finite number, or True and False as 1 and 0.
std::optional<double> feature_in(const CsvReader& reader, const std::string& field);

/// What the rows of a table say of one column with features.
class ColumnSurvey {
 public:
  /// @param is_category  numbers are words
  /// @param most_kept  numbers to keep, for the median and for what floats tell apart
  ColumnSurvey(std::size_t column, bool is_category, std::size_t most_kept)
      : column_(column), is_category_(is_category), most_kept_(most_kept) {}
  /// Adds the column's field of the reader's row.
  /// @param is_trained  medians, offsets and words may be learned from it
  void add(const CsvReader& reader, bool is_trained);
  /// Appends the features that the column gives, and notes. Returns a problem if it cannot be read.
  std::optional<std::string> describe(TableColumns& columns, const TableOptions& options, std::size_t rows,
                                      std::vector<Feature>& features) const;
  /// Returns whether all rows have the same.
  bool is_constant(std::size_t rows) const {
    return numbers_ == rows ? least_ == most_ : numbers_ == 0 && words_.size() == 1;
  }
  /// Returns whether all numbers are whole, from 0 to 255.
  bool are_bytes() const { return whole_ && least_ >= 0 && most_ <= 255; }
  std::size_t column() const { return column_; }

 private:
  void add_number(double value, bool is_trained);
  std::optional<std::string> describe_words(TableColumns& columns, const TableOptions& options,
                                            std::size_t rows, std::vector<Feature>& features) const;
  std::optional<std::string> describe_numbers(TableColumns& columns, const TableOptions& options,
                                              std::size_t rows, std::vector<Feature>& features) const;
  /// Returns whether the numbers are whole and differ from row to row.
  bool names_rows(std::size_t rows) const;

  std::size_t column_;
  bool is_category_;
  std::size_t most_kept_;
  std::size_t numbers_ = 0;
  std::size_t missing_ = 0;
  std::size_t dates_ = 0;
  bool whole_ = true;
  bool counts_ = true;  // each number is the one before plus one
  bool rises_ = true;
  double last_ = 0;
  double least_ = 0;
  double most_ = 0;
  std::vector<double> kept_;  // numbers of rows to learn from
  std::map<std::string, std::size_t>
      words_;  // texts that are no numbers, and how many rows to learn from have them
  bool too_many_words_ = false;
  std::string first_word_;  // the first that does not stand for a missing value
  std::size_t first_word_line_ = 0;
};

}  // namespace skyline::store
