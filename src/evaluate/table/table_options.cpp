#include "evaluate/table/table_options.hpp"

#include "core/config/config_text.hpp"
#include "core/config/option_list.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/hash.hpp"
#include "core/text/wording.hpp"
#include "store/data/named_file.hpp"
#include "store/publish/publish.hpp"
#include "trial/metric_keys.hpp"

#include <algorithm>
#include <set>

namespace skyline::evaluate {
namespace {

/// Reads `COLUMN`, or `{12: COLUMN, 200: COLUMN}` with a column for each budget.
OptionKind<std::vector<BudgetColumn>> columns_by_budget() {
  OptionKind<std::vector<BudgetColumn>> kind{
      {"a column, or columns by epochs, e.g. {12: accuracy_12}",
       load_yaml_text("{type: [string, object], additionalProperties: {type: string}}", "schema")}};
  kind.read = [](const ConfigNode& node, std::vector<BudgetColumn>& columns) {
    columns.clear();
    if (node.is_scalar()) {
      columns.push_back({.column = node.as_text()});
      return !columns.front().column.empty();
    }
    if (!node.is_map() || node.entries().empty()) return false;
    for (const ConfigNode::Entry& entry : node.entries()) {
      const ConfigNode budget = key_node(node, entry);
      const double epochs = budget.as_number();
      if (!above(0).holds(epochs)) budget.fail_expected("a budget above 0 epochs");
      if (column_for(columns, epochs)) budget.fail("a second column for the budget " + in_quotes(entry.key));
      columns.push_back({epochs, entry.value.as_text()});
    }
    return true;
  };
  kind.write = [](const std::vector<BudgetColumn>& columns) {
    if (columns.empty()) return ConfigNode();
    if (!columns.front().epochs) return ConfigNode::make_scalar(columns.front().column, {});
    std::vector<ConfigNode::Entry> entries;
    for (const BudgetColumn& each : columns) {
      entries.push_back(
          {ConfigNode::make_number(*each.epochs).as_text(), ConfigNode::make_scalar(each.column, {}), {}});
    }
    return ConfigNode::make_map(std::move(entries), {});
  };
  return kind;
}

/// Notes the content of the file. Another content than that with which a run began is refused.
void note_content(const ConfigNode& node, TableOptions& options, const std::string& stated) {
  const std::string found = checksum(store::read_file(options.file));
  if (!stated.empty() && stated != found) {
    node.fail(options.file + " is another table than the one with which the run began: its checksum is " +
              found + ", not " + stated);
  }
  options.checksum = found;
}

/// Reads the name of a file beside the configuration, or else in the folder in which the program starts.
OptionKind<TableOptions> table_file() {
  OptionKind<TableOptions> kind{text("a CSV file, which may be gzip")};
  kind.read = [plain = text("a CSV file")](const ConfigNode& node, TableOptions& options) {
    if (!plain.read(node, options.file)) return false;
    options.file = store::named_file_that_exists(node, options.file);
    note_content(node, options, options.checksum);
    return true;
  };
  kind.write = [](const TableOptions& options) { return ConfigNode::make_scalar(options.file, {}); };
  return kind;
}

OptionKind<TableOptions> table_checksum() {
  OptionKind<TableOptions> kind{text("32 hex digits")};
  kind.read = [plain = text("32 hex digits")](const ConfigNode& node, TableOptions& options) {
    std::string stated;
    if (!plain.read(node, stated)) return false;
    if (!options.file.empty()) note_content(node, options, stated);
    options.checksum = stated;
    return true;
  };
  kind.write = [](const TableOptions& options) {
    return options.checksum.empty() ? ConfigNode() : ConfigNode::make_scalar(options.checksum, {}, true);
  };
  return kind;
}

void check_table(const TableOptions& options, const ConfigNode& section) {
  if (options.file.empty()) section.fail("missing key `file`");
  for (std::size_t i = 0; i < options.metrics.size(); ++i) {
    const std::string& name = options.metrics[i].name;
    const auto first = std::ranges::find(options.metrics, name, &TableMetric::name);
    if (&*first == &options.metrics[i]) continue;
    section.at("metrics").items()[i].at("name").fail("metric " + in_quotes(name) + " is described twice");
  }
}

}  // namespace

std::optional<std::size_t> column_for(const std::vector<BudgetColumn>& columns, double epochs) {
  const auto found = std::ranges::find_if(
      columns, [epochs](const BudgetColumn& each) { return !each.epochs || *each.epochs == epochs; });
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

void check_budget(const TableOptions& options, const ConfigNode& place, double epochs,
                  const std::vector<std::string>& needed) {
  const auto refuse = [&](const std::set<double>& budgets, const std::string& whose, const char* reason) {
    std::vector<std::string> texts;
    for (const double budget : budgets) texts.push_back(ConfigNode::make_number(budget).as_text());
    place.fail("expected " + joined(texts, " or ") + ", for which " + whose + " has a column, got " +
               ConfigNode::make_number(epochs).as_text() + reason);
  };
  std::set<double> known;
  bool has_column = false;
  for (const TableMetric& metric : options.metrics) {
    if (column_for(metric.columns, epochs)) {
      has_column = true;
      continue;
    }
    std::set<double> budgets;
    for (const BudgetColumn& each : metric.columns) budgets.insert(*each.epochs);
    if (std::ranges::find(needed, metric.name) != needed.end()) {
      refuse(budgets, in_quotes(metric.name), ": trials are compared by it");
    }
    known.merge(budgets);
  }
  if (!has_column) refuse(known, "a metric", "");
}

const OptionTable<TableMetric>& TableMetric::table() {
  using Of = trial::Metric::Of;
  static const OptionTable<TableMetric> table{
      {"name", &TableMetric::name, text("a name"), "Name of the metric.", KeyRule::kRequired},
      {"column", &TableMetric::columns, columns_by_budget(),
       "Its column; or one for each budget that the table has, by epochs.", KeyRule::kRequired},
      {"times", &TableMetric::times, Range(),
       "Number by which its values are multiplied, e.g. 0.01 for percentages."},
      {"better", &TableMetric::better, trial::better_direction(), "The better direction."},
      {"range", &TableMetric::range, trial::metric_range(),
       "All values that it can have; unbounded unless given."},
      {"unit", &TableMetric::unit, text("a word"), "Its unit, for people."},
      {"of", &TableMetric::of,
       choice<Of>({{"none", Of::kNone},
                   {"train", Of::kTrain},
                   {"validation", Of::kValidation},
                   {"test", Of::kTest}}),
       "The part of the data on which it was measured."},
      {"when", &TableMetric::when, trial::when_measured(),
       "The trials that have it: every one, or full trainings alone, so that the search does not see it."}};
  return table;
}

const OptionTable<TableOptions>& TableOptions::table() {
  static const OptionTable<TableOptions> table{
      {{"file", table_file(),
        "The table, a CSV file with a first row of names and a column for each parameter; may be gzip.",
        KeyRule::kMayChange},
       {"checksum", table_checksum(),
        "Checksum of the file's content, which a run's own configuration states."},
       {"epochs", &TableOptions::epochs, above(0), "Budget of a trial of the search."},
       {"metrics", &TableOptions::metrics, list_of(section(TableMetric::table()), "a list of metrics"),
        "The metrics that the table has.", KeyRule::kRequired},
       {"seconds", &TableOptions::seconds, columns_by_budget(),
        "The column with the seconds that a trial took, or one for each budget: its predicted cost."},
       {"rows", &TableOptions::rows,
        choice<RowChoice>({{"mean", RowChoice::kMean}, {"first", RowChoice::kFirst}}),
        "The value of an architecture to which several rows belong: their mean, or that of the first."}},
      check_table};
  return table;
}

}  // namespace skyline::evaluate
