#include "evaluate/table/table_evaluator.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "evaluate/synthetic/synthetic_evaluator.hpp"
#include "evaluate/table/benchmark_table.hpp"
#include "evaluate/table/row_names.hpp"
#include "trial/metric_keys.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

namespace skyline::evaluate {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

class TableEvaluator final : public trial::Evaluator {
 public:
  TableEvaluator(TableOptions options, const EvaluatorServices& services)
      : options_(std::move(options)), space_(services.space), columns_(columns_of(options_)) {
    const BenchmarkRows rows = read_rows(options_, space_);
    table_ = std::make_unique<const BenchmarkTable>(
        rows, cached_ids(rows, options_.file, space_, services.space_hash), options_.rows);
  }

  double predicted_cost(const trial::Trial& trial) const override {
    if (options_.seconds.empty()) return forward_work(trial);
    const double* values = table_->find(trial.architecture().id);
    if (values == nullptr) return 1;
    const trial::Continue* start = trial.continues();
    const double before = start == nullptr ? 0 : value_at(values, options_.seconds, start->epochs);
    const double seconds = value_at(values, options_.seconds, trial.budget().epochs) - before;
    return seconds > 0 ? seconds : 1;
  }

  trial::Outcome evaluate(const trial::Trial& trial, trial::EvaluationContext& context) override {
    const double* values = table_->find(trial.architecture().id);
    if (values == nullptr) {
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
  double value_at(const double* values, const std::vector<BudgetColumn>& columns, double epochs) const {
    const auto place = column_for(columns, epochs);
    if (!place) return kNoValue;
    return values[std::ranges::find(columns_, columns[*place].column) - columns_.begin()];
  }

  TableOptions options_;
  space::SearchSpace space_;
  std::vector<std::string> columns_;
  std::unique_ptr<const BenchmarkTable> table_;
};

std::vector<trial::Metric> metrics_of(const TableOptions& options) {
  return {options.metrics.begin(), options.metrics.end()};
}

/// Checks the metrics' names, the form of the rows' names against the space, and budgets against the columns.
void check_place(const ConfigNode& written, const SectionPlace& place) {
  const TableOptions options = TableOptions::table().parse(written);
  for (const ConfigNode& metric : written.at("metrics").items()) trial::check_metric_name(metric.at("name"));
  if (!options.names.empty()) {
    try {
      (void)RowNames(options.names, place.space.parameters());
    } catch (const UserError& error) {
      written.at("names").fail(error.what());
    }
  }
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

std::vector<std::string> describe(const TableOptions& options, const EvaluatorServices& services) {
  const BenchmarkRows rows = read_rows(options, services.space);
  const auto ids = cached_ids(rows, options.file, services.space, services.space_hash);
  const BenchmarkTable table(rows, ids, options.rows);
  std::vector<std::string> lines{counted(rows.size(), "row") + ", for " +
                                 counted(table.size(), "architecture")};
  const auto invalid =
      static_cast<std::size_t>(std::ranges::count_if(ids, [](const auto& id) { return !id; }));
  if (invalid > 0) lines.front() += "; " + counted(invalid, "row") + " of invalid genotypes";
  if (rows.outside > 0)
    lines.push_back(counted(rows.outside, "row") + " outside of the space, first " +
                    shortened(rows.example_outside, 120));
  for (std::size_t column = 0; column < rows.columns.size(); ++column) {
    const BenchmarkTable::Spread& spread = table.spreads()[column];
    if (spread.rows == 0) continue;
    lines.push_back("`" + rows.columns[column] + "`: " + counted(spread.rows, "row") +
                    " share an architecture with others, from whose mean they differ by " +
                    number(spread.deviation) + " (standard deviation), from each other by up to " +
                    number(spread.largest) + "; " +
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
      .keys = std::make_shared<const OptionTable<TableOptions>>(TableOptions::table()),
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
