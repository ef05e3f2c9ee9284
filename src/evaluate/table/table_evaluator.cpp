#include "evaluate/table/table_evaluator.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "evaluate/synthetic/synthetic_evaluator.hpp"
#include "evaluate/table/benchmark_rows.hpp"
#include "evaluate/table/table_options.hpp"
#include "trial/metric_keys.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <sstream>
#include <utility>

namespace skyline::evaluate {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// Returns the columns that the metrics and times of a table need, each once.
std::vector<NumberColumn> columns_of(const TableOptions& options) {
  std::vector<NumberColumn> columns;
  const auto add = [&columns](const std::vector<BudgetColumn>& needed, double times, bool is_seconds) {
    for (const BudgetColumn& each : needed) {
      auto found = std::ranges::find(columns, each.column, &NumberColumn::name);
      if (found == columns.end()) found = columns.insert(found, NumberColumn{.name = each.column});
      found->times = std::max(found->times, std::abs(times));
      found->is_seconds = found->is_seconds || is_seconds;
    }
  };
  for (const TableMetric& metric : options.metrics) add(metric.columns, metric.times, false);
  add(options.seconds, 1, true);
  return columns;
}

/// The values of architectures in a table. Any thread may use it.
class BenchmarkTable {
 public:
  /// @throws UserError for a row that lacks the value of a parameter that its network uses
  BenchmarkTable(const TableOptions& options, space::SearchSpace space);

  /// Returns the values of an architecture, by column; empty if it has no row. Its rows have the values of
  /// the parameters that it uses. If there are none, its rows are those whose networks are the same: all
  /// networks of the table are then built, once.
  std::vector<double> find(const space::Architecture& architecture) const;
  const BenchmarkRows& rows() const { return rows_; }

 private:
  void check_values() const;
  std::vector<std::size_t> rows_of(const space::Architecture& architecture) const;
  double value_of(const std::vector<std::size_t>& rows, std::size_t column) const;

  const TableOptions& options_;
  const space::SearchSpace space_;
  const BenchmarkRows rows_;
  mutable std::once_flag built_;
  /// Architecture of each row, once they are built; nullopt for one that cannot be built.
  mutable std::vector<std::optional<space::ArchId>> ids_;
};

BenchmarkTable::BenchmarkTable(const TableOptions& options, space::SearchSpace space)
    : options_(options),
      space_(std::move(space)),
      rows_(read_rows(options.file, space_, columns_of(options))) {
  check_values();
}

void BenchmarkTable::check_values() const {
  const std::vector<bool> all(rows_.parameters, true);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (!rows_.lacking(row, all)) continue;
    const space::BuildAttempt attempt = space_.try_build(rows_.genotype(row));
    const auto lacking = attempt.architecture ? rows_.lacking(row, attempt.architecture->used) : std::nullopt;
    if (!lacking) continue;
    throw UserError(options_.file + ":" + std::to_string(rows_.lines[row]) + ": `" +
                    space_.parameters()[*lacking].name + "` has no value" +
                    (space_.has_network() ? ", but the network of this row uses it" : ""));
  }
}

std::vector<std::size_t> BenchmarkTable::rows_of(const space::Architecture& architecture) const {
  std::vector<std::size_t> found;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (rows_.is_of(row, architecture) && space_.try_build(rows_.genotype(row)).architecture)
      found.push_back(row);
  }
  if (!found.empty() || !space_.has_network()) return found;
  std::call_once(built_, [this] {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const space::BuildAttempt attempt = space_.try_build(rows_.genotype(row));
      ids_.push_back(attempt.architecture ? std::optional(attempt.architecture->id) : std::nullopt);
    }
  });
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (ids_[row] == architecture.id) found.push_back(row);
  }
  return found;
}

double BenchmarkTable::value_of(const std::vector<std::size_t>& rows, std::size_t column) const {
  if (options_.rows == RowChoice::kFirst) return rows_.value(rows.front(), column);
  double mean = kNoValue;
  double count = 0;
  for (const std::size_t row : rows) {
    const double value = rows_.value(row, column);
    if (std::isnan(value)) continue;
    mean = ++count == 1 ? value : mean + (value - mean) / count;
  }
  return mean;
}

std::vector<double> BenchmarkTable::find(const space::Architecture& architecture) const {
  const std::vector<std::size_t> rows = rows_of(architecture);
  std::vector<double> values;
  for (std::size_t column = 0; !rows.empty() && column < rows_.columns.size(); ++column)
    values.push_back(value_of(rows, column));
  return values;
}

class TableEvaluator final : public trial::Evaluator {
 public:
  TableEvaluator(TableOptions options, const EvaluatorServices& services)
      : options_(std::move(options)), space_(services.space), table_(options_, space_) {}

  double predicted_cost(const trial::Trial& trial) const override {
    if (options_.seconds.empty()) return forward_work(trial);
    const std::vector<double> values = table_.find(trial.architecture());
    if (values.empty()) return 1;
    const trial::Continue* start = trial.continues();
    const double before = start == nullptr ? 0 : value_at(values, options_.seconds, start->epochs);
    const double seconds = value_at(values, options_.seconds, trial.budget().epochs) - before;
    return seconds > 0 ? seconds : 1;
  }

  trial::Outcome evaluate(const trial::Trial& trial, trial::EvaluationContext& context) override {
    const std::vector<double> values = table_.find(trial.architecture());
    if (values.empty()) {
      return trial::Failure{
          trial::FailureKind::kException,
          "the table has no row of this architecture: " + space_.describe(trial.architecture().genotype)};
    }
    trial::Measurements measured;
    for (const TableMetric& metric : options_.metrics) {
      const bool is_asked = trial.is_final() || metric.when == trial::Metric::When::kEveryTrial;
      const double value = is_asked ? value_at(values, metric.columns, trial.budget().epochs) : kNoValue;
      measured.values.push_back(metric.times * value);
    }
    if (std::ranges::all_of(measured.values, [](double value) { return std::isnan(value); })) {
      return trial::Failure{
          trial::FailureKind::kException,
          "the table has no numbers of this architecture for " + epochs_text(trial.budget().epochs)};
    }
    if (trial.may_be_continued()) context.state().save_last([](trial::TrainingState&) {});
    return measured;
  }

 private:
  static std::string epochs_text(double epochs) {
    return ConfigNode::make_number(epochs).as_text() + " epochs";
  }
  double value_at(const std::vector<double>& values, const std::vector<BudgetColumn>& columns,
                  double epochs) const {
    const auto place = column_for(columns, epochs);
    if (!place) return kNoValue;
    const std::vector<std::string>& names = table_.rows().columns;
    return values[static_cast<std::size_t>(std::ranges::find(names, columns[*place].column) - names.begin())];
  }

  const TableOptions options_;
  const space::SearchSpace space_;
  const BenchmarkTable table_;
};

/// The keys of the section. What named rows by a text of their own is refused in one line.
class TableKeys final : public KeyTable {
 public:
  TableKeys() : KeyTable(TableOptions::table()) {}
  ConfigNode complete(const ConfigNode& section) const override {
    for (const char* const key : {"names", "column"}) {
      if (!section.is_map() || section.find(key) == nullptr) continue;
      section.at(key).fail(
          "a table has a column for each parameter now: scripts/nasbench201_table makes it of the names of "
          "NAS-Bench-201; of a run with names only the results can be read");
    }
    return TableOptions::table().complete(section);
  }
};

std::vector<trial::Metric> metrics_of(const TableOptions& options) {
  return {options.metrics.begin(), options.metrics.end()};
}

/// Checks the metrics' names, and budgets against the columns.
void check_place(const ConfigNode& written, const SectionPlace& place) {
  const TableOptions options = TableOptions::table().parse(written);
  for (const ConfigNode& metric : written.at("metrics").items()) trial::check_metric_name(metric.at("name"));
  const ConfigNode* epochs = written.find("epochs");
  check_budget(options, epochs != nullptr ? *epochs : written, options.epochs, place.needed);
  for (const double budget : place.budgets) check_budget(options, *place.budgets_from, budget, place.needed);
  if (place.full_epochs != nullptr) {
    check_budget(options, *place.full_epochs, place.full_epochs->as_number(), place.full_needed);
  }
}

std::string number(double value) {
  std::ostringstream text;
  text.precision(3);
  text << value;
  return text.str();
}

/// How far rows of one genotype are from each other in a column.
struct RowSpread {
  std::size_t rows = 0;  // rows whose genotype has other rows
  double squares = 0;    // sum of squares of the differences from the mean of their genotype
  double largest = 0;    // largest difference between two rows of a genotype
};

void add_to(RowSpread& spread, const std::vector<double>& values) {
  if (values.size() < 2) return;
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (const double value : values) spread.squares += (value - mean) * (value - mean);
  const auto [low, high] = std::ranges::minmax(values);
  spread.largest = std::max(spread.largest, high - low);
  spread.rows += values.size();
}

std::vector<std::string> describe(const TableOptions& options, const EvaluatorServices& services) {
  const BenchmarkTable table(options, services.space);
  const BenchmarkRows& rows = table.rows();
  std::map<std::vector<std::uint32_t>, std::vector<std::size_t>> rows_of;  // key: the genotype
  for (std::size_t row = 0; row < rows.size(); ++row) rows_of[rows.genotype(row).choices].push_back(row);
  std::vector<std::string> lines{counted(rows.size(), "row") + ", for " +
                                 counted(rows_of.size(), "genotype")};
  if (rows.outside > 0)
    lines.push_back(counted(rows.outside, "row") + " outside of the space, first " +
                    shortened(rows.example_outside, 120));
  for (std::size_t column = 0; column < rows.columns.size(); ++column) {
    RowSpread spread;
    for (const auto& [genotype, members] : rows_of) {
      std::vector<double> values;
      for (const std::size_t row : members) {
        if (!std::isnan(rows.value(row, column))) values.push_back(rows.value(row, column));
      }
      add_to(spread, values);
    }
    if (spread.rows == 0) continue;
    lines.push_back("`" + rows.columns[column] + "`: " + counted(spread.rows, "row") +
                    " share a genotype with others, from whose mean they differ by " +
                    number(std::sqrt(spread.squares / static_cast<double>(spread.rows))) +
                    " (standard deviation), from each other by up to " + number(spread.largest) + "; " +
                    (options.rows == RowChoice::kMean ? "their mean" : "the first of them") + " counts");
  }
  return lines;
}

}  // namespace

EvaluatorKind table_kind() {
  const auto read = [](const ConfigNode& section) { return TableOptions::table().parse(section); };
  return {
      .name = "table",
      .meaning = "Results from the table of a published benchmark, in place of training.",
      .metrics =
          [read](const ConfigNode& section, store::TargetKind /*targets*/) {
            return section.is_null() ? std::vector<trial::Metric>() : metrics_of(read(section));
          },
      .keys = std::make_shared<const TableKeys>(),
      .is_plain = true,
      .needs =
          [read](const ConfigNode& section) {
            return EvaluatorNeeds{.epochs = read(section).epochs, .network = false, .seeded = false};
          },
      .make =
          [read](const ConfigNode& section, const EvaluatorServices& services) {
            return std::make_unique<TableEvaluator>(read(section), services);
          },
      .check_place = check_place,
      .describe = [read](const ConfigNode& section,
                         const EvaluatorServices& services) { return describe(read(section), services); }};
}

}  // namespace skyline::evaluate
