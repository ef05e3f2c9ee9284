#pragma once

#include <string>
#include <vector>

namespace skyline::report {

/// A text table with aligned columns. Widths count bytes.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  void add_column(std::string title, Align align = Align::kRight);
  /// Adds a row. @pre one cell per column
  void add_row(std::vector<std::string> cells);
  /// Draws a line across the table before the next row.
  void add_rule();
  /// The table: titles, a line, the rows; two spaces between columns, no blanks at line ends, a newline after
  /// each line.
  std::string text() const;

 private:
  struct Column {
    std::string title;
    Align align;
  };
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty one is a rule
};

}  // namespace skyline::report
