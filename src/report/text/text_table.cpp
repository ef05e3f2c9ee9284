#include "report/text/text_table.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <utility>

#include <fmt/format.h>

namespace skyline::report {
namespace {

constexpr std::string_view kGap = "  ";

std::string padded(const std::string& cell, std::size_t width, TextTable::Align align) {
  const std::string blanks(width - characters_in(cell), ' ');
  return align == TextTable::Align::kRight ? blanks + cell : cell + blanks;
}

void end_line(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

constexpr int kSignificant = 4;
constexpr std::size_t kShortTitle = 8;  // titles up to this size stay in one line
constexpr std::size_t kLeastText = 16;  // a column of texts is not broken into narrower ones
constexpr std::size_t kNoLimit = std::string::npos;

/// Cuts a text after some characters into lines of at most `most` characters, where its words are not longer.
std::vector<std::string> lines_of(const std::string& text, std::size_t most, std::string_view ends_of_words) {
  std::vector<std::string> lines(1);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(ends_of_words, begin), text.size() - 1) + 1;
    const std::string word = text.substr(begin, end - begin);
    const std::size_t blanks = word.ends_with(' ') ? 1 : 0;
    if (!lines.back().empty() && characters_in(lines.back() + word) - blanks > most) lines.emplace_back();
    lines.back() += word;
    begin = end;
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

}  // namespace

void TextTable::add_column(const std::string& title, Align align, std::string subtitle, int rank) {
  const std::string text = printable(title);
  columns_.push_back({text, {text}, align, std::move(subtitle), rank, kNoLimit});
}

std::vector<std::string> TextTable::Column::lines_of_cell(const std::string& cell) const {
  return lines_of(cell, most_of_cell, " ");
}

void TextTable::add_row(std::vector<std::string> cells) {
  require(cells.size() == columns_.size(),
          "a table row has another number of cells than the table has columns");
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::size_t TextTable::width_of_cells(std::size_t column) const {
  std::size_t width = characters_in(columns_[column].subtitle);
  for (const auto& row : rows_) {
    if (row.empty()) continue;
    for (const std::string& line : columns_[column].lines_of_cell(row[column]))
      width = std::max(width, characters_in(line));
  }
  return width;
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(width_of_cells(c));
    for (const std::string& line : columns_[c].lines)
      widths.back() = std::max(widths.back(), characters_in(line));
  }
  return widths;
}

std::size_t TextTable::width() const {
  std::size_t sum = 0;
  for (const std::size_t width : widths()) sum += width + kGap.size();
  return sum - std::min(sum, kGap.size());
}

/// Breaks the cells of the first column of texts, if the table then fits. Returns whether it does.
bool TextTable::break_texts(std::size_t columns) {
  const auto text = std::ranges::find(columns_, Align::kText, &Column::align);
  if (text == columns_.end()) return false;
  const std::size_t own = widths()[static_cast<std::size_t>(text - columns_.begin())];
  const std::size_t others = width() - own;
  if (columns < others + kLeastText) return false;
  text->most_of_cell = columns - others;
  return true;
}

void TextTable::drop(std::size_t column) {
  const auto place = static_cast<std::ptrdiff_t>(column);
  columns_.erase(columns_.begin() + place);
  for (auto& row : rows_) {
    if (!row.empty()) row.erase(row.begin() + place);
  }
}

std::size_t TextTable::fit(std::size_t columns) {
  if (width() <= columns) return 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    columns_[c].lines = lines_of(columns_[c].title, std::max(width_of_cells(c), kShortTitle), "_. ");
  }
  const std::size_t before = columns_.size();
  while (width() > columns && !break_texts(columns)) {
    const auto last = std::ranges::max_element(columns_.rbegin(), columns_.rend(), {}, &Column::rank);
    if (last->rank == 0) break;
    drop(static_cast<std::size_t>(columns_.rend() - last) - 1);
  }
  return before - columns_.size();
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

  const std::size_t lines = std::ranges::max(
      columns_ | std::views::transform([](const Column& each) { return each.lines.size(); }));
  for (std::size_t line = 0; line < lines; ++line) {
    add_line([&](std::size_t c) {
      const std::vector<std::string>& title = columns_[c].lines;
      return line + title.size() < lines ? "" : title[line + title.size() - lines];
    });
  }
  const bool subtitles =
      std::ranges::any_of(columns_, [](const Column& column) { return !column.subtitle.empty(); });
  if (subtitles) add_line([&](std::size_t c) { return columns_[c].subtitle; });
  add_rule_line();
  for (const auto& row : rows_) {
    if (row.empty()) {
      add_rule_line();
      continue;
    }
    std::vector<std::vector<std::string>> cells;
    for (std::size_t c = 0; c < columns_.size(); ++c) cells.push_back(columns_[c].lines_of_cell(row[c]));
    const std::size_t height =
        std::ranges::max(cells | std::views::transform([](const auto& each) { return each.size(); }));
    for (std::size_t line = 0; line < height; ++line) {
      add_line([&](std::size_t c) { return line < cells[c].size() ? cells[c][line] : ""; });
    }
  }
  return text;
}

std::string significant_text(double value, int digits) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  // Rounding may carry into a new digit (9.996 -> 10.00), so the rounded number is measured.
  const double unit = std::pow(10.0, magnitude - digits + 1);
  const double rounded = std::round(value / unit) * unit;
  const int rounded_magnitude = static_cast<int>(std::floor(std::log10(std::abs(rounded)) + 1e-12));
  return fmt::format("{:.{}f}", rounded, std::max(0, digits - 1 - rounded_magnitude));
}

std::string si_text(double value, std::string_view separator, std::string_view unit) {
  static constexpr std::array<std::string_view, 7> kPrefixes{"", "k", "M", "G", "T", "P", "E"};
  if (!std::isfinite(value)) return fmt::format("{}", value);
  std::size_t prefix = 0;
  // 999.95 and more rounds to 1000.0 with four digits, which belongs to the next prefix.
  while (std::abs(value) >= 999.95 && prefix + 1 < kPrefixes.size() &&
         !(prefix == 0 && std::abs(value) < 1000)) {
    value /= 1000;
    ++prefix;
  }
  const bool plain = prefix == 0 && value == std::floor(value);
  const std::string number = plain ? fmt::format("{:.0f}", value) : significant_text(value, kSignificant);
  if (prefix == 0 && unit.empty()) return number;
  return fmt::format("{}{}{}{}", number, separator, kPrefixes[prefix], unit);
}

std::string format_number(double value) {
  return std::abs(value) < 1000 ? significant_text(value, kSignificant) : si_text(value);
}

std::string metric_text(const trial::Metric& metric, double value, std::string_view separator) {
  if (std::isnan(value)) return "-";
  if (metric.range == trial::MetricRange{0, 1}) return fmt::format("{:.4f}", value);
  if (metric.unit == "B") return si_text(value, separator, "B");
  if (metric.unit == "ms" || metric.unit == "s") return significant_text(value, 3);
  if (metric.computed) return si_text(value, separator);
  if (std::abs(value) < 1e6 && value == std::floor(value)) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}g}", value, kSignificant);
}

std::string duration_text(double seconds) {
  const auto total = static_cast<std::int64_t>(std::max(0.0, seconds));
  const std::int64_t minutes = total / 60;
  const std::int64_t hours = minutes / 60;
  const std::int64_t days = hours / 24;
  if (days > 0) return fmt::format("{}d {:02}:{:02}:{:02}", days, hours % 24, minutes % 60, total % 60);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes % 60, total % 60);
  return fmt::format("{}:{:02}", minutes, total % 60);
}

}  // namespace skyline::report
