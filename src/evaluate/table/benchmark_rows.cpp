#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "evaluate/table/benchmark_table.hpp"
#include "evaluate/table/row_names.hpp"
#include "store/arrays/csv_reader.hpp"
#include "store/journal/run_tables.hpp"
#include "trial/column_names.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace skyline::evaluate {
namespace {

constexpr std::size_t kMostRows = 5'000'000;
constexpr double kLargest = 1e150;  // sums of squares of all rows are finite

/// Beginnings of names of columns in tables of other tools: Optuna, scikit-learn, MLflow, Ray Tune,
/// DeepHyper.
constexpr std::array kPrefixes{"params_",  "user_attrs_", "values_", "param_", "params.",
                               "metrics.", "config/",     "config.", "p:"};

/// A column of numbers, and what its numbers must be.
struct ValueColumn {
  std::size_t place;
  double times = 1;         // largest factor that a metric gives them
  bool is_seconds = false;  // then they are above 0
};

ValueColumn value_column(const TableOptions& options, const std::string& name, std::size_t place) {
  const auto is_in = [&name](const std::vector<BudgetColumn>& columns) {
    return std::ranges::find(columns, name, &BudgetColumn::column) != columns.end();
  };
  ValueColumn column{.place = place, .is_seconds = is_in(options.seconds)};
  for (const TableMetric& metric : options.metrics) {
    if (is_in(metric.columns)) column.times = std::max(column.times, std::abs(metric.times));
  }
  return column;
}

/// Reads a table whose first row has the names of its columns.
class RowReader {
 public:
  RowReader(const TableOptions& options, const space::SearchSpace& space, RowRules rules);
  BenchmarkRows read();

 private:
  std::size_t find_column(const std::string& name) const;
  /// Returns whether the row is a genotype of the space; its choices are then in `row_`.
  bool read_genotype();
  bool read_name(const std::string& name);
  double read_value(const ValueColumn& column) const;
  bool has_failed() const;

  const TableOptions& options_;
  const space::SearchSpace& space_;
  const std::vector<space::Parameter>& parameters_;
  const RowRules rules_;
  std::string file_;
  store::CsvReader reader_;
  std::vector<std::string> header_;
  std::optional<RowNames> names_;
  std::optional<std::size_t> status_;      // place of the column
  std::vector<std::size_t> name_columns_;  // the one with the names, or one per parameter
  struct Row {
    std::vector<std::uint32_t> choices;
    std::vector<bool> empty;
  } row_;
  std::vector<std::string> value_names_;
};

RowReader::RowReader(const TableOptions& options, const space::SearchSpace& space, RowRules rules)
    : options_(options),
      space_(space),
      parameters_(space.parameters()),
      rules_(std::move(rules)),
      file_(options.file),
      reader_(options.file),
      value_names_(columns_of(options)) {
  if (!reader_.read_row()) throw UserError(file_ + ": the table is empty");
  header_ = reader_.names();
  if (!rules_.status.empty()) status_ = find_column(rules_.status);
  if (options.names.empty()) {
    for (const std::string& name : parameter_columns_in(header_, space, value_names_))
      name_columns_.push_back(find_column(name));
    return;
  }
  name_columns_.push_back(find_column(options.column));
  names_.emplace(options.names, parameters_);
}

std::size_t RowReader::find_column(const std::string& name) const {
  const auto found = std::ranges::find(header_, name);
  if (found == header_.end()) throw UserError(no_column(file_, name, header_));
  if (std::find(found + 1, header_.end(), name) != header_.end())
    throw UserError(file_ + ": two columns are called " + in_quotes(name));
  return static_cast<std::size_t>(found - header_.begin());
}

bool RowReader::read_genotype() {
  const std::vector<std::string>& fields = reader_.fields();
  row_.empty.assign(parameters_.size(), false);
  if (names_) return read_name(fields[name_columns_.front()]);
  row_.choices.clear();
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const std::string& field = fields[name_columns_[p]];
    auto choice = space::choice_of(parameters_[p], field, reader_.number(field));
    // An apostrophe stands in front of texts that spreadsheets would calculate (search_state.csv).
    if (!choice && field.starts_with('\'')) choice = space::choice_of(parameters_[p], field.substr(1), {});
    const std::string word = lower_case(store::without_outer_blanks(field));
    const bool is_empty = !choice && (word.empty() || word == "nan");
    if (!choice && !is_empty) return false;
    row_.empty[p] = is_empty;
    row_.choices.push_back(choice.value_or(0));
  }
  return true;
}

bool RowReader::read_name(const std::string& name) {
  std::vector<space::Genotype> readings;
  try {
    readings = names_->genotypes_of(name);
  } catch (const UserError& error) {
    reader_.fail(error.what());
  }
  if (readings.empty()) return false;
  if (readings.size() > 1) {
    reader_.fail(in_quotes(name) + " is both " + shortened(space_.describe(readings[0]), 200) + " and " +
                 shortened(space_.describe(readings[1]), 200) +
                 ": expected names of one meaning, e.g. with a separator between their values");
  }
  row_.choices = std::move(readings.front().choices);
  return true;
}

double RowReader::read_value(const ValueColumn& column) const {
  const std::string& field = reader_.fields()[column.place];
  const std::string word = lower_case(store::without_outer_blanks(field));
  if (word.empty() || word == "na") return std::numeric_limits<double>::quiet_NaN();
  const auto number = reader_.number(field);
  const bool is_large = number && std::abs(*number) * column.times > kLargest;
  if (is_large && rules_.large_is_no_value) return std::numeric_limits<double>::quiet_NaN();
  const char* expected = !number || std::isinf(*number)      ? "a finite number"
                         : column.is_seconds && *number <= 0 ? "a number above 0"
                         : is_large                          ? "at most 1e150, also after `times`"
                                                             : nullptr;
  if (expected == nullptr) return *number;
  reader_.fail("column " + in_quotes(header_[column.place]) + ": expected " + expected + ", got " +
               in_quotes(field));
}

bool RowReader::has_failed() const {
  if (!status_) return false;
  const std::string word = lower_case(store::without_outer_blanks(reader_.fields()[*status_]));
  const std::string name = word.substr(word.rfind('.') + 1);  // TrialState.COMPLETE
  return std::ranges::find(kEndedWell, name) == kEndedWell.end();
}

BenchmarkRows RowReader::read() {
  BenchmarkRows rows{.parameters = parameters_.size(), .columns = value_names_};
  std::vector<ValueColumn> value_columns;
  for (const std::string& name : value_names_)
    value_columns.push_back(value_column(options_, name, find_column(name)));
  while (reader_.read_row()) {
    if (reader_.fields().size() != header_.size()) {
      reader_.fail("expected " + counted(header_.size(), "field") + ", got " +
                   std::to_string(reader_.fields().size()));
    }
    if (has_failed()) {
      ++rows.failed;
      continue;
    }
    if (!read_genotype()) {
      if (rows.outside++ == 0) rows.example_outside = reader_.place() + joined(reader_.fields());
      continue;
    }
    if (rows.size() == kMostRows) reader_.fail("more than " + std::to_string(kMostRows) + " rows");
    rows.choices.insert(rows.choices.end(), row_.choices.begin(), row_.choices.end());
    rows.empty.insert(rows.empty.end(), row_.empty.begin(), row_.empty.end());
    for (const ValueColumn& column : value_columns) rows.values.push_back(read_value(column));
    rows.lines.push_back(reader_.line());
  }
  if (rows.size() > 0 || rows.failed > 0) return rows;
  if (rows.outside == 0) throw UserError(file_ + ": the table has no rows");
  const space::Genotype first{std::vector<std::uint32_t>(parameters_.size())};
  throw UserError(shortened(rows.example_outside, 200) +
                  ": neither this row nor another is a genotype of the space" +
                  (names_ ? ", whose names are like " + names_->name_of(first) : ""));
}

}  // namespace

space::Genotype BenchmarkRows::genotype(std::size_t row) const {
  const auto begin = choices.begin() + static_cast<std::ptrdiff_t>(row * parameters);
  return {{begin, begin + static_cast<std::ptrdiff_t>(parameters)}};
}

std::vector<std::string> columns_of(const TableOptions& options) {
  std::vector<std::string> names;
  const auto add = [&names](const std::vector<BudgetColumn>& columns) {
    for (const BudgetColumn& each : columns) {
      if (std::ranges::find(names, each.column) == names.end()) names.push_back(each.column);
    }
  };
  for (const TableMetric& metric : options.metrics) add(metric.columns);
  add(options.seconds);
  return names;
}

std::vector<std::string> parameter_columns_in(const std::vector<std::string>& header,
                                              const space::SearchSpace& space,
                                              const std::vector<std::string>& metrics) {
  const auto holds = [](const std::vector<std::string>& list, const std::string& name) {
    return std::ranges::find(list, name) != list.end();
  };
  constexpr std::array<std::string_view, 3> kFirst{"archid", "arch_id", "trial"};
  const auto first = std::ranges::search(header, kFirst);
  const auto begin = first.end();  // of parameters and metrics, which end with the first field of a trial
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

std::string no_column(const std::string& file, const std::string& name,
                      const std::vector<std::string>& header) {
  const std::string missing = file + ": there is no column " + in_quotes(name);
  for (const char* const prefix : kPrefixes) {
    const std::string found = prefix + name;
    if (std::ranges::find(header, found) != header.end())
      return missing + ": rename " + in_quotes(found) + " to " + in_quotes(name) + ", and others with " +
             in_quotes(prefix) + " likewise";
  }
  return missing + ", " + suggestion(name, header);
}

BenchmarkRows read_rows(const TableOptions& options, const space::SearchSpace& space, const RowRules& rules) {
  return RowReader(options, space, rules).read();
}

}  // namespace skyline::evaluate
