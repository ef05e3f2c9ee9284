#include "store/arrays/table_survey.hpp"

#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "store/arrays/preparation.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace skyline::store {
namespace {

constexpr std::size_t kMostCountedWords = std::size_t{1} << 16;

using objective::number_text;

std::size_t digits_at(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

/// Writes months as numbers where a letter begins a month's English name: 1-Mar-24, March 1, 2024.
std::string with_month_numbers(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths{"january",   "february", "march",    "april",
                                                     "may",       "june",     "july",     "august",
                                                     "september", "october",  "november", "december"};
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto* const begin = std::ranges::find_if(text, is_letter);
  const auto* const end = std::find_if_not(begin, text.end(), is_letter);
  const std::string word = lower_case(std::string_view(begin, end));
  const auto* const month = std::ranges::find_if(
      kMonths, [&](std::string_view name) { return word.size() >= 3 && name.starts_with(word); });
  if (month == kMonths.end()) return std::string(text);
  std::string numbers = std::string(text.begin(), begin) + std::to_string(month - kMonths.begin() + 1);
  const bool comma = begin == text.begin();  // March 1, 2024
  for (const char c : std::string_view(end, text.end()))
    if (!comma || c != ',') numbers += c;
  return numbers;
}

/// Returns whether a text is a date or a time: 2024-03-01, 1.3.2024, 03/01/24, 1-Mar-24, with a time after
/// it, or 12:30.
bool is_date(std::string_view written) {
  written = without_outer_blanks(written);
  const std::string numbers = with_month_numbers(written);
  std::string_view text = numbers;
  std::array<std::size_t, 3> sizes{};
  char between = '\0';
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = digits_at(text);
    text.remove_prefix(sizes[i]);
    if (sizes[i] == 0 || sizes[i] > 4) return false;
    if (i == 2) break;
    if (i == 1 && between == ':' && text.empty()) return true;
    if (text.empty() || (i == 0 && std::string_view("-./: ").find(text.front()) == std::string_view::npos) ||
        (i == 1 && text.front() != between))
      return false;
    between = text.front();
    text.remove_prefix(1);
  }
  if (between == ':') return true;
  return (sizes[0] == 4 || sizes[2] == 4 || sizes[2] == 2) &&
         (text.empty() || text.front() == ' ' || text.front() == 'T');
}

/// Returns why a text among numbers is none, for a person.
std::string cause_of(const std::string& text) {
  if (is_date(text)) return ": a date?";
  if (text.find_first_not_of("0123456789.,-+ '") == std::string::npos &&
      text.find_first_of(",' ") != std::string::npos)
    return ": a decimal comma, or thousands that are set apart?";
  if (text.find('%') != std::string::npos || text.find('$') != std::string::npos) return ": a unit?";
  return "";
}

bool is_number_like(const std::string& text) {
  return !text.empty() && text.find_first_of("0123456789") != std::string::npos &&
         text.find_first_not_of("0123456789.,-+ '%$") == std::string::npos && !is_date(text) &&
         text.find_first_of("-+", 1) == std::string::npos;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

bool is_missing_word(const std::string& text) {
  static const std::set<std::string, std::less<>> kWords{"",    "?",    "na",   "n/a",  "#n/a",
                                                         "nan", "-nan", "null", "none", "<na>"};
  const std::string_view word = without_outer_blanks(text);
  return word.size() < 5 && kWords.contains(lower_case(word));
}

std::optional<double> feature_in(const CsvReader& reader, const std::string& field) {
  const std::optional<double> value = reader.number(field);
  if (value) return std::isfinite(*value) ? value : std::nullopt;
  const std::string_view word = without_outer_blanks(field);
  if (word == "True" || word == "TRUE" || word == "true") return 1;
  if (word == "False" || word == "FALSE" || word == "false") return 0;
  return std::nullopt;
}

void ColumnSurvey::add(const CsvReader& reader, bool is_trained) {
  const std::string& field = reader.fields()[column_];
  const std::optional<double> value = is_category_ ? std::nullopt : feature_in(reader, field);
  if (value) return add_number(*value, is_trained);
  const bool missing = !is_category_ && is_missing_word(field);
  if (missing) ++missing_;
  if (!missing && first_word_line_ == 0) {
    first_word_ = field;
    first_word_line_ = reader.line();
  }
  if (is_date(field)) ++dates_;
  if (words_.size() < kMostCountedWords || words_.contains(field)) {
    words_[field] += is_trained ? 1 : 0;
  } else {
    too_many_words_ = true;
  }
}

void ColumnSurvey::add_number(double value, bool is_trained) {
  if (numbers_++ == 0) {
    least_ = most_ = value;
  } else {
    counts_ = counts_ && value == last_ + 1;
    rises_ = rises_ && value > last_;
  }
  last_ = value;
  least_ = std::min(least_, value);
  most_ = std::max(most_, value);
  whole_ = whole_ && value == std::floor(value);
  if (is_trained && kept_.size() < most_kept_) kept_.push_back(value);
}

bool ColumnSurvey::names_rows(std::size_t rows) const {
  return numbers_ == rows && whole_ && (rises_ || count_different(kept_) == kept_.size());
}

std::optional<std::string> ColumnSurvey::describe(TableColumns& columns, const TableOptions& options,
                                                  std::size_t rows, std::vector<Feature>& features) const {
  const std::string& name = columns.names[column_];
  const std::string label = columns.label(column_);
  if (columns.has_names && is_nameless(name)) {
    if (!names_rows(rows)) {
      return label + " has no name: give it one";
    }
    columns.left_out.push_back(name);
    columns.notes.push_back(label + (counts_ ? " counts the rows" : " has a number for each row") +
                            " and has no name: it is left out (name it to keep it)");
  } else if (missing_ == rows) {
    columns.left_out.push_back(name);
    columns.notes.push_back(label + " is empty: it is left out");
  } else if (numbers_ > 0 && first_word_line_ == 0 && kept_.empty()) {
    columns.left_out.push_back(name);
    columns.notes.push_back(label + " is empty where training samples are: it is left out");
  } else if (numbers_ == 0) {
    return describe_words(columns, options, rows, features);
  } else if (first_word_line_ > 0) {
    return label + ": expected a number, got " + in_quotes(first_word_) + " in line " +
           std::to_string(first_word_line_) + cause_of(first_word_);
  } else {
    return describe_numbers(columns, options, rows, features);
  }
  return std::nullopt;
}

std::optional<std::string> ColumnSurvey::describe_words(TableColumns& columns, const TableOptions& options,
                                                        std::size_t rows,
                                                        std::vector<Feature>& features) const {
  const std::string& name = columns.names[column_];
  const std::string label = columns.label(column_);
  const std::string first = in_quotes(first_word_) + " in line " + std::to_string(first_word_line_);
  const auto count = std::to_string(words_.size()) + (too_many_words_ ? " or more" : "") + " different words";
  if (2 * dates_ > rows) {
    return label + ": expected numbers or words, got dates, " + first;
  }
  if (std::ranges::any_of(words_, [](const auto& word) { return printable(word.first) != word.first; })) {
    return label + ": its words are not UTF-8, or have control characters";
  }
  if (!is_category_ && is_number_like(first_word_)) {
    return label + ": expected a number, got " + first + cause_of(first_word_);
  }
  if (too_many_words_ || (!is_category_ && rows > 2 && 2 * words_.size() > rows)) {
    return label + ": expected numbers or the words of some categories, got " + count + ", " + first;
  }
  std::vector<std::pair<std::string, std::size_t>> words(words_.begin(), words_.end());
  std::erase_if(words, [](const auto& word) { return word.second == 0; });
  const std::size_t num_trained = words.size();
  std::ranges::stable_sort(words, std::ranges::greater(), &std::pair<std::string, std::size_t>::second);
  const bool bounded = words.size() > options.most_categories;
  if (bounded) words.resize(options.most_categories);
  std::vector<std::string> taken;
  for (const auto& [word, number] : words) taken.push_back(word);
  std::ranges::sort(taken);
  for (const std::string& word : taken) features.push_back({.column = name, .is = word});
  if (bounded) features.push_back({.column = name, .is_not = taken});
  const bool has_empty = words_.contains("");
  columns.notes.push_back(
      label + " has " + count + (has_empty ? " (empty cells are one)" : "") + ": a feature for each" +
      (num_trained < words_.size() ? " that training samples have (" + std::to_string(num_trained) + ")"
                                   : "") +
      (bounded ? " of the " + std::to_string(taken.size()) + " most frequent, and one for others" : "") +
      " (--drop, --most-categories)");
  return std::nullopt;
}

std::optional<std::string> ColumnSurvey::describe_numbers(TableColumns& columns, const TableOptions& options,
                                                          std::size_t rows,
                                                          std::vector<Feature>& features) const {
  const std::string& name = columns.names[column_];
  const std::string label = columns.label(column_);
  Feature feature{.column = name, .subtract = find_centre(kept_, label, "--drop", columns.notes)};
  if (std::max(std::abs(least_ - feature.subtract), std::abs(most_ - feature.subtract)) >
      std::numeric_limits<float>::max()) {
    return label + ": a number is too large for float32";
  }
  if (missing_ > 0) {
    if (options.missing == "refuse") {
      return label + ": " + counted(missing_, "value") + " missing (--missing fills them in)";
    }
    feature.missing = options.missing == "median" ? median_of(kept_) : std::stod(options.missing);
    columns.notes.push_back(label + ": " + counted(missing_, "value") +
                            " missing: " + (options.missing == "median" ? "the median, " : "") +
                            number_text(*feature.missing) + ", and a feature that says so (--missing)");
  }
  features.push_back(feature);
  if (missing_ > 0) features.push_back({.column = name, .is_missing = true});
  const bool shuffled =
      whole_ && numbers_ == rows && most_ - least_ + 1 == static_cast<double>(rows) && names_rows(rows);
  const std::string lower = lower_case(name);
  const bool named_id =
      columns.has_names && (lower == "id" || lower.ends_with("_id") || name.ends_with("Id") ||
                            name.ends_with("ID") || lower == "index");
  constexpr std::size_t kFewRows = 20;
  if (rows >= kFewRows && ((rises_ && numbers_ == rows) || shuffled || (named_id && names_rows(rows)))) {
    columns.notes.push_back("check: " + label +
                            " looks like an index or an id, which says nothing about new samples (--drop=" +
                            name + " or --id=" + name + ")");
  }
  return std::nullopt;
}

}  // namespace skyline::store
