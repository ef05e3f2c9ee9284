#include "report/text/text_table.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <utility>

namespace skyline::report {
namespace {

constexpr std::string_view kGap = "  ";

std::string padded(const std::string& cell, std::size_t width, TextTable::Align align) {
  const std::string blanks(width - cell.size(), ' ');
  return align == TextTable::Align::kLeft ? cell + blanks : blanks + cell;
}

void end_line(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

}  // namespace

void TextTable::add_column(std::string title, Align align) {
  columns_.push_back({std::move(title), align});
}

void TextTable::add_row(std::vector<std::string> cells) {
  require(cells.size() == columns_.size(),
          "a table row has another number of cells than the table has columns");
  rows_.push_back(std::move(cells));
}

void TextTable::add_rule() {
  rows_.emplace_back();
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = columns_[c].title.size();
    for (const auto& row : rows_) {
      if (!row.empty()) width = std::max(width, row[c].size());
    }
    widths.push_back(width);
  }
  return widths;
}

std::string TextTable::text() const {
  const std::vector<std::size_t> width = widths();
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) text += kGap;
      text += padded(cell_of(c), width[c], columns_[c].align);
    }
    end_line(text);
  };
  const auto add_rule_line = [&] { add_line([&](std::size_t c) { return std::string(width[c], '-'); }); };

  add_line([&](std::size_t c) { return columns_[c].title; });
  add_rule_line();
  for (const auto& row : rows_) {
    if (row.empty()) {
      add_rule_line();
    } else {
      add_line([&](std::size_t c) { return row[c]; });
    }
  }
  return text;
}

}  // namespace skyline::report
