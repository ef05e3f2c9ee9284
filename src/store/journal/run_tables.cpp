#include "store/journal/run_tables.hpp"

#include "skyline/core/error.hpp"

#include "core/version.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "store/hdf5/table.hpp"
#include "store/publish/publish.hpp"
#include "trial/refit.hpp"
#include "trial/trial_fields.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

namespace skyline::store {
namespace {

using trial::CommittedTrial;

constexpr std::string_view kTablesFormat = "skyline-run";
constexpr std::int64_t kTablesVersion = 8;

/// The type of a parameter's column is the common type of its values: numbers give double, also beside null,
/// which is NaN; anything else gives text, in which null is empty.
enum class ColumnType { kFlag, kInteger, kNumber, kText };

ColumnType type_of(const space::Parameter& parameter) {
  const auto all = [&](auto holds) { return std::ranges::all_of(parameter.values, holds); };
  const auto is_integer = [](const space::Value& v) { return std::holds_alternative<std::int64_t>(v); };
  const auto is_null = [](const space::Value& v) { return std::holds_alternative<space::Null>(v); };
  if (all([](const space::Value& v) { return std::holds_alternative<bool>(v); })) return ColumnType::kFlag;
  if (all(is_integer)) return ColumnType::kInteger;
  const bool numbers = !all(is_null) && all([&](const space::Value& v) {
    return is_integer(v) || is_null(v) || std::holds_alternative<double>(v);
  });
  return numbers ? ColumnType::kNumber : ColumnType::kText;
}

/// The columns that only some runs have.
struct OwnColumns {
  struct Parameter {
    std::string name;
    ColumnType type;
    const space::Parameter& values;
  };
  std::vector<Parameter> parameters;
  std::vector<std::string> metrics;
  bool has_network = true;  // otherwise there are no costs
};

void add_parameter(Table& rows, const OwnColumns::Parameter& column, std::uint32_t choice) {
  const space::Value& value = column.values.values.at(choice);
  if (column.type == ColumnType::kFlag) return rows(column.name, std::get<bool>(value));
  if (column.type == ColumnType::kInteger) return rows(column.name, std::get<std::int64_t>(value));
  const bool is_null = std::holds_alternative<space::Null>(value);
  if (column.type == ColumnType::kNumber)
    return rows(column.name, is_null ? std::nan("") : space::as_number(value));
  rows(column.name, is_null ? std::string() : space::to_text(value));
}

/// Returns the number of a repeat; -1 of a refit.
std::int64_t repeat_cell(const trial::Trial& trial) {
  return trial::is_refit(trial) ? -1 : std::int64_t{trial.proposal.final_repeat};
}

void add_row(Table& rows, const CommittedTrial& entry, bool on_front, const OwnColumns& own) {
  const space::Architecture& architecture = entry.trial.architecture();
  const auto* failure = std::get_if<trial::Failure>(&entry.outcome);
  rows("number", static_cast<std::int64_t>(entry.trial.number));
  rows("position", static_cast<std::int64_t>(entry.position));
  rows("phase", std::string(to_text(entry.trial.phase())));
  rows("final_repeat", repeat_cell(entry.trial));
  rows("arch_id", space::to_text(architecture.id));
  for (std::size_t i = 0; i < own.parameters.size(); ++i) {
    add_parameter(rows, own.parameters[i], architecture.genotype.choices.at(i));
  }
  rows("status", std::string(failure != nullptr ? to_text(failure->kind) : "ok"));
  rows("reason", failure != nullptr ? failure->reason : std::string());
  for (std::size_t i = 0; i < own.metrics.size(); ++i) {
    const bool failed = failure != nullptr;
    rows(own.metrics[i], failed ? std::nan("") : std::get<trial::Measurements>(entry.outcome).values.at(i));
  }
  for (const std::string& name :
       own.has_network ? objective::computed_metric_names() : std::vector<std::string>()) {
    rows(name, objective::computed_metric(architecture.cost, name));
  }
  rows("on_front", on_front);
  for (const trial::NamedValue& field : trial::field_values(entry.trial)) {
    std::visit([&](const auto& value) { rows(field.name, value); }, field.value);
  }
  trial::for_each_timing(rows, entry.timing);
  rows.end_row();
}

/// Returns the columns, without rows. @param parameters  number of parameters of the run's space
Table::Rows trial_columns(const OwnColumns& own, std::size_t parameters) {
  space::Architecture first;
  first.genotype.choices.resize(parameters);
  CommittedTrial any;
  any.trial.proposal.architecture = std::make_shared<const space::Architecture>(std::move(first));
  any.outcome = trial::Failure{};
  return [any, &own](Table& rows) { add_row(rows, any, false, own); };
}

/// Returns the columns of this run. A parameter or metric with the name of another column gets a prefix.
OwnColumns own_columns(const space::SearchSpace& space, const std::vector<std::string>& metrics) {
  const OwnColumns none{{}, {}, space.has_network()};
  const std::vector<std::string> every_run = Table::names(trial_columns(none, 0));
  const auto holds = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  OwnColumns own{{}, {}, space.has_network()};
  for (const std::string& metric : metrics) {
    own.metrics.push_back((holds(every_run, metric) ? "metric_" : "") + metric);
  }
  std::vector<std::string> others = every_run;
  others.insert(others.end(), metrics.begin(), metrics.end());
  others.insert(others.end(), own.metrics.begin(), own.metrics.end());
  std::vector<std::string> columns = parameter_columns(space, others);
  for (std::size_t p = 0; p < columns.size(); ++p) {
    own.parameters.push_back({std::move(columns[p]), type_of(space.parameters()[p]), space.parameters()[p]});
  }
  return own;
}

void write_slots(Hdf5Image& image, const std::vector<SlotAccount>& slots) {
  const auto add = [](Table& rows, const SlotAccount& slot) {
    for_each_cell(slot, rows);
    rows.end_row();
  };
  Table::write(
      image, "slots", [&](Table& rows) { add(rows, {}); },
      [&](Table& rows) {
        for (const SlotAccount& slot : slots) add(rows, slot);
      });
}

void add_point(Table& rows, const CommittedTrial& entry, const Course& course, std::size_t point,
               const std::vector<std::string>& columns) {
  rows("number", static_cast<std::int64_t>(entry.trial.number));
  rows("position", static_cast<std::int64_t>(entry.position));
  rows("phase", std::string(to_text(entry.trial.phase())));
  rows("final_repeat", repeat_cell(entry.trial));
  rows("step", course.steps[point]);
  for (const std::string& column : columns) rows(column, course.value(point, column));
  rows.end_row();
}

void write_courses(Hdf5Image& image, const trial::CommitLog& committed, const Courses& courses,
                   const std::vector<std::string>& columns) {
  const auto add_points = [&](Table& rows) {
    if (courses.empty()) return;
    for (const trial::SharedTrial& entry : committed) {
      const auto course = courses.find({entry->trial.name(), entry->timing.started_s});
      if (course == courses.end()) continue;
      for (std::size_t i = 0; i < course->second.steps.size(); ++i) {
        add_point(rows, *entry, course->second, i, columns);
      }
    }
  };
  Table::write(
      image, "course", [&](Table& rows) { add_point(rows, {}, {.steps = {0}}, 0, columns); }, add_points);
}

}  // namespace

std::vector<std::string> parameter_columns(const space::SearchSpace& space,
                                           const std::vector<std::string>& others) {
  std::set<std::string> taken(others.begin(), others.end());
  std::vector<std::string> columns;
  for (const space::Parameter& parameter : space.parameters()) columns.push_back(parameter.name);
  const std::set<std::string> names(columns.begin(), columns.end());
  for (std::string& column : columns) {
    if (!taken.contains(column)) continue;
    while (taken.contains(column) || names.contains(column)) column.insert(0, "parameter_");
    taken.insert(column);
  }
  return columns;
}

void write_run_tables(const std::filesystem::path& path, const trial::CommitLog& committed,
                      const std::vector<bool>& on_front, const std::vector<trial::Metric>& metrics,
                      const space::SearchSpace& space, const std::string& config_text,
                      const std::vector<SlotAccount>& slots, const Courses& courses) {
  require(on_front.size() == committed.size(), "on_front does not have one flag a trial");
  const OwnColumns own = own_columns(space, trial::names_of(metrics));
  const auto add_trials = [&](Table& rows) {
    for (std::size_t i = 0; i < committed.size(); ++i) add_row(rows, *committed[i], on_front[i], own);
  };

  Hdf5Image image(path, {.user_block = kSealBytes});
  image.write_attribute("/", "format", kTablesFormat);
  image.write_attribute("/", "version", kTablesVersion);
  image.write_attribute("/", "skyline_version", program_version());
  image.write_attribute("/", "config", config_text);
  Table::write(image, "trials", trial_columns(own, space.parameters().size()), add_trials);
  write_slots(image, slots);
  write_courses(image, committed, courses, course_names(metrics, courses));
  publish_sealed(image, kTablesFormat);
}

StoredTables read_run_tables(const std::filesystem::path& path) {
  constexpr int kMost = std::numeric_limits<int>::max();  // limit for counts and seconds
  const std::string file = read_file(path);
  const auto bytes = std::as_bytes(std::span(file));
  check_seal(bytes, kTablesFormat, "run.h5", path);
  const Hdf5Reader reader(bytes.subspan(kSealBytes), path);
  reader.check_version("tables of a run", kTablesVersion);
  const std::size_t rows = reader.texts("slots", "host").size();
  std::map<std::string, std::vector<std::string>> texts;
  const auto text = [&](const char* name, std::size_t row) {
    std::vector<std::string>& column = texts[name];
    if (column.empty() && reader.has_column("slots", name)) column = reader.texts("slots", name);
    return column.empty() ? std::string() : column[row];
  };
  std::map<std::string, std::vector<double>> columns;
  const auto number = [&](const char* name, std::size_t row) {
    std::vector<double>& column = columns[name];
    if (column.empty()) column = reader.numbers("slots", name);
    if (column[row] >= 0 && column[row] <= kMost) return column[row];
    throw UserError(path.string() + ": slots: " + name + ": expected at least 0 and at most " +
                    std::to_string(kMost));
  };
  std::vector<SlotAccount> slots(rows);
  for (std::size_t row = 0; row < slots.size(); ++row) {
    for_each_cell(slots[row], [&]<typename T>(const char* name, T& value) {
      if constexpr (std::is_same_v<T, std::string>) {
        value = text(name, row);
      } else {
        value = static_cast<T>(number(name, row));
      }
    });
  }
  return {std::move(slots), reader.numbers("trials", "started_s")};
}

}  // namespace skyline::store
