#include "evaluate/table/benchmark_rows.hpp"

#include "skyline/core/error.hpp"

#include "core/config/foreign_words.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "evaluate/table/csv_reader.hpp"
#include "store/journal/run_tables.hpp"
#include "trial/trial_fields.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

namespace skyline::evaluate {
namespace {

constexpr std::size_t kMostRows = 5'000'000;
constexpr double kLargest = 1e150;  // sums of squares of all rows are finite

/// Columns, in small letters, that say how a trial ended.
constexpr std::array kStatus{"status", "state", "trial_status", "job_status"};
/// Words for a trial that ended well, in small letters: those of Skyline, Optuna, Ax, MLflow and W&B, SMAC,
/// NNI, Ray Tune, DeepHyper.
constexpr std::array kEndedWell{"ok",      "complete",  "completed",  "finished",
                                "success", "succeeded", "terminated", "done"};

/// Beginnings of names of columns in tables of other tools: Optuna, scikit-learn, MLflow, Ray Tune,
/// DeepHyper.
constexpr std::array kPrefixes{"params_",  "user_attrs_", "values_", "param_", "params.",
                               "metrics.", "config/",     "config.", "p:"};

/// Returns the message that a table lacks a column, with the one that another tool calls so.
std::string no_column(const std::string& file, const std::string& name,
                      const std::vector<std::string>& header) {
  const std::string missing = file + ": there is no column " + in_quotes(name);
  for (const char* const prefix : kPrefixes) {
    const std::string found = prefix + name;
    if (std::ranges::find(header, found) != header.end())
      return missing + ": rename " + in_quotes(found) + " to " + in_quotes(name) + ", and others with " +
             in_quotes(prefix) + " likewise";
  }
  return missing + ", " + suggestion(name, header, NamesOf::kUser);
}

/// Returns the genotype of a row's choices, with the first value where there is none.
space::Genotype first_where_empty(std::span<const std::optional<std::uint32_t>> choices) {
  space::Genotype genotype;
  for (const auto& choice : choices) genotype.choices.push_back(choice.value_or(0));
  return genotype;
}

std::vector<std::string> names_of(const std::vector<NumberColumn>& columns) {
  std::vector<std::string> names;
  for (const NumberColumn& column : columns) names.push_back(column.name);
  return names;
}

/// Reads a table whose first row has the names of its columns.
class RowReader {
 public:
  RowReader(const std::string& file, const space::SearchSpace& space, std::vector<NumberColumn> columns,
            RowSource source, const std::vector<std::string>& metrics);
  BenchmarkRows read();

 private:
  std::size_t find_column(const std::string& name) const;
  /// Returns whether one column alone has the name, and is no parameter's.
  bool is_free(const std::string& name) const;
  std::optional<std::size_t> find_status() const;
  /// Adds the row's choices. Returns whether it is a genotype of the space: a parameter whose `when` does not
  /// hold may have any text.
  bool read_genotype(std::vector<std::optional<std::uint32_t>>& choices) const;
  double read_value(const NumberColumn& column, std::size_t place) const;
  bool has_failed() const;

  const space::SearchSpace& space_;
  std::vector<NumberColumn> columns_;
  const RowSource source_;
  const std::string file_;
  CsvReader reader_;
  std::vector<std::string> header_;
  std::vector<std::size_t> parameter_places_;  // column of each parameter
  std::vector<std::size_t> places_;            // column of each of columns_
  std::optional<std::size_t> status_;          // its column
};

RowReader::RowReader(const std::string& file, const space::SearchSpace& space,
                     std::vector<NumberColumn> columns, RowSource source,
                     const std::vector<std::string>& metrics)
    : space_(space), columns_(std::move(columns)), source_(source), file_(file), reader_(file) {
  if (!reader_.read_row()) throw UserError(file_ + ": the table is empty");
  header_ = reader_.names();
  std::vector<std::string> no_parameters = names_of(columns_);
  std::ranges::copy(metrics, std::back_inserter(no_parameters));
  for (const std::string& name : parameter_columns_in(header_, space, no_parameters))
    parameter_places_.push_back(find_column(name));
  std::erase_if(columns_,
                [&](const NumberColumn& column) { return column.may_lack && !is_free(column.name); });
  for (const NumberColumn& column : columns_) places_.push_back(find_column(column.name));
  if (source_ == RowSource::kTrials) status_ = find_status();
}

std::size_t RowReader::find_column(const std::string& name) const {
  const auto found = std::ranges::find(header_, name);
  if (found == header_.end()) {
    throw UserError((source_ == RowSource::kTrials ? "of another space or other metrics: " : "") +
                    no_column(file_, name, header_));
  }
  if (std::find(found + 1, header_.end(), name) != header_.end())
    throw UserError(file_ + ": two columns are called " + in_quotes(name));
  return static_cast<std::size_t>(found - header_.begin());
}

bool RowReader::is_free(const std::string& name) const {
  const bool is_parameter =
      std::ranges::any_of(parameter_places_, [&](std::size_t place) { return header_[place] == name; });
  return std::ranges::count(header_, name) == 1 && !is_parameter;
}

std::optional<std::size_t> RowReader::find_status() const {
  for (const char* const word : kStatus) {
    const auto found = std::ranges::find(header_, word, lower_case);
    if (found == header_.end() || !is_free(*found)) continue;
    const auto place = static_cast<std::size_t>(found - header_.begin());
    if (std::ranges::count(places_, place) == 0) return place;
  }
  return std::nullopt;
}

bool RowReader::read_genotype(std::vector<std::optional<std::uint32_t>>& choices) const {
  std::vector<std::size_t> foreign;  // parameters with a text that is none of their values
  for (std::size_t p = 0; p < parameter_places_.size(); ++p) {
    const space::Parameter& parameter = space_.parameters()[p];
    const std::string& field = reader_.fields()[parameter_places_[p]];
    auto choice = space::choice_of(parameter, field, reader_.number(field));
    // An apostrophe stands in front of texts that spreadsheets would calculate (search_state.csv).
    if (!choice && field.starts_with('\'')) choice = space::choice_of(parameter, field.substr(1), {});
    const std::string word = lower_case(without_outer_blanks(field));
    if (!choice && !word.empty() && word != "nan") foreign.push_back(p);
    choices.push_back(choice);
  }
  if (foreign.empty()) return true;
  const std::vector<bool> in_use = space_.in_use(first_where_empty(choices));
  return std::ranges::none_of(foreign, [&](std::size_t p) { return in_use[p]; });
}

double RowReader::read_value(const NumberColumn& column, std::size_t place) const {
  const std::string& field = reader_.fields()[place];
  const std::string word = lower_case(without_outer_blanks(field));
  if (word.empty() || word == "na") return std::numeric_limits<double>::quiet_NaN();
  const auto number = reader_.number(field);
  const bool is_large = number && std::abs(*number) * column.times > kLargest;
  if (is_large && source_ == RowSource::kTrials) return std::numeric_limits<double>::quiet_NaN();
  const char* expected = !number || std::isinf(*number)      ? "a finite number"
                         : column.is_seconds && *number <= 0 ? "a number above 0"
                         : is_large                          ? "at most 1e150, also after `times`"
                                                             : nullptr;
  if (expected == nullptr) return *number;
  reader_.fail("column " + in_quotes(column.name) + ": expected " + expected + ", got " + in_quotes(field));
}

bool RowReader::has_failed() const {
  if (!status_) return false;
  const std::string word = lower_case(without_outer_blanks(reader_.fields()[*status_]));
  const std::string name = word.substr(word.rfind('.') + 1);  // TrialState.COMPLETE
  return std::ranges::find(kEndedWell, name) == kEndedWell.end();
}

BenchmarkRows RowReader::read() {
  BenchmarkRows rows{.parameters = space_.parameters().size(), .columns = names_of(columns_)};
  std::vector<std::optional<std::uint32_t>> choices;
  while (reader_.read_row()) {
    if (reader_.fields().size() != header_.size()) {
      reader_.fail("expected " + counted(header_.size(), "field") + ", got " +
                   std::to_string(reader_.fields().size()));
    }
    if (has_failed()) {
      ++rows.failed;
      continue;
    }
    choices.clear();
    if (!read_genotype(choices)) {
      if (rows.outside++ == 0) rows.example_outside = reader_.place() + joined(reader_.fields());
      continue;
    }
    if (rows.size() == kMostRows) reader_.fail("more than " + std::to_string(kMostRows) + " rows");
    std::ranges::copy(choices, std::back_inserter(rows.choices));
    for (std::size_t i = 0; i < columns_.size(); ++i)
      rows.values.push_back(read_value(columns_[i], places_[i]));
    rows.lines.push_back(reader_.line());
  }
  if (rows.size() > 0) return rows;
  if (rows.failed > 0) {
    throw UserError(file_ + ": by the column " + in_quotes(header_[*status_]) +
                    " no row ended well: expected " + joined({kEndedWell.begin(), kEndedWell.end()}, " or ") +
                    " (rename the column if it says something else)");
  }
  if (rows.outside == 0) throw UserError(file_ + ": the table has no rows");
  throw UserError(shortened(rows.example_outside, 200) +
                  ": neither this row nor another is a genotype of the space");
}

}  // namespace

space::Genotype BenchmarkRows::genotype(std::size_t row) const {
  return first_where_empty(std::span(choices).subspan(row * parameters, parameters));
}

std::optional<std::size_t> BenchmarkRows::lacking(std::size_t row, const std::vector<bool>& used) const {
  for (std::size_t p = 0; p < parameters; ++p) {
    if (used[p] && !choices[row * parameters + p]) return p;
  }
  return std::nullopt;
}

bool BenchmarkRows::is_of(std::size_t row, const space::Architecture& architecture) const {
  for (std::size_t p = 0; p < parameters; ++p) {
    if (architecture.used[p] && choices[row * parameters + p] != architecture.genotype.choices[p])
      return false;
  }
  return true;
}

std::vector<std::string> parameter_columns_in(const std::vector<std::string>& header,
                                              const space::SearchSpace& space,
                                              const std::vector<std::string>& metrics) {
  const auto holds = [](const std::vector<std::string>& list, const std::string& name) {
    return std::ranges::find(list, name) != list.end();
  };
  constexpr std::array<std::string_view, 3> kFirst{"archid", "arch_id", "trial"};
  const auto first = std::ranges::search(header, kFirst);
  const auto begin = first.end();  // first parameter or metric; they end with the first field of a trial
  const auto end = std::find(begin, header.end(), "origin");
  std::vector<std::string> names;
  for (const space::Parameter& parameter : space.parameters()) names.push_back(parameter.name);
  if (first.empty() || end == header.end()) return names;
  std::vector<std::string> others = metrics;
  for (auto column = header.begin(); column != header.end(); ++column) {
    const bool may_be_parameter = begin <= column && column < end;
    if (!may_be_parameter && trial::is_column_name(*column)) others.push_back(*column);
  }
  std::ranges::sort(names, {}, &std::string::size);  // a name may be another with `parameter_` in front
  std::vector<std::string> claimed = names;
  for (const std::string& name : names) {
    std::string renamed = "parameter_" + name;
    while (holds(claimed, renamed)) renamed.insert(0, "parameter_");
    if (holds(metrics, renamed) || std::find(begin, end, renamed) == end) continue;
    others.push_back(name);
    claimed.push_back(std::move(renamed));
  }
  return store::parameter_columns(space, others);
}

BenchmarkRows read_rows(const std::string& file, const space::SearchSpace& space,
                        const std::vector<NumberColumn>& columns, RowSource source,
                        const std::vector<std::string>& metrics) {
  return RowReader(file, space, columns, source, metrics).read();
}

}  // namespace skyline::evaluate
