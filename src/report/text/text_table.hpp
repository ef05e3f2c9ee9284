#pragma once

#include "skyline/trial/metric.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace skyline::report {

/// Writes a number for people: four significant digits, SI prefixes from 1000 on: `0.9812`, `465.2 M`.
std::string format_number(double value);

/// A text table with aligned columns. Widths count characters.
class TextTable {
 public:
  enum class Align { kLeft, kRight, kText };  // kText: left, and fit() may break cells at blanks
  /// @param subtitle  text below the title; may be empty
  /// @param rank  0 for a column that always stays; fit() drops those with the highest rank first
  void add_column(const std::string& title, Align align = Align::kRight, std::string subtitle = "",
                  int rank = 0);
  /// Adds a row; line breaks and control characters are escaped, as in titles. @pre one cell per column
  void add_row(std::vector<std::string> cells);
  /// Draws a line across the table before the next row.
  void add_rule() { rows_.emplace_back(); }
  /// Makes the table at most so many columns of text wide, as far as that is possible: first titles of
  /// several words take several lines, then cells of a column of texts; then columns are dropped, of equal
  /// ones the last.
  /// @return  number of columns that were dropped
  std::size_t fit(std::size_t columns);
  /// Returns the table: titles, their subtitles if there are any, a line, the rows. Columns are two spaces
  /// apart, no line ends with blanks, and each ends with a newline.
  std::string text() const;

 private:
  struct Column {
    std::string title;
    std::vector<std::string> lines;  // lines of the title
    Align align;
    std::string subtitle;
    int rank;
    std::size_t most_of_cell;  // characters of a line of its cells

    std::vector<std::string> lines_of_cell(const std::string& cell) const;
  };
  std::size_t width_of_cells(std::size_t column) const;
  std::vector<std::size_t> widths() const;
  std::size_t width() const;
  bool break_texts(std::size_t columns);
  void drop(std::size_t column);

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

/// Writes four significant digits with an SI prefix: `465.2 M`, `88.14 k`, `12`. The unit follows the prefix.
/// @param separator  between number and prefix: " " in tables, "" in log lines
std::string si_text(double value, std::string_view separator = " ", std::string_view unit = "");

/// Rounds to `digits` significant digits, without an exponent: 0.00123, 12.3, 1230.
std::string significant_text(double value, int digits);

/// Writes a metric's value by its description: shares (from 0 to 1) with 4 decimals, costs and bytes with SI
/// prefixes, times (`ms`, `s`) with 3 significant digits, others with 4; NaN is `-`.
std::string metric_text(const trial::Metric& metric, double value, std::string_view separator = " ");

/// Writes a duration: `0:07`, `3:05`, `2:03:05`, `1d 02:03:05`.
/// @param seconds  rounded down; a negative value counts as 0
std::string duration_text(double seconds);

}  // namespace skyline::report
