#include "store/journal/run_tables.hpp"

#include "skyline/core/error.hpp"

#include "core/version.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "store/hdf5/table.hpp"
#include "store/journal/trial_table.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

namespace skyline::store {
namespace {

using Cells = std::vector<trial::Cell>;
using Topic = trial::Cell::Topic;

constexpr std::string_view kTablesFormat = "skyline-run";
constexpr std::int64_t kTablesVersion = 8;

/// Returns the value of a cell in the type of its column.
template <typename Type>
Type value_as(const trial::CellValue& value, const Type& none) {
  const auto convert = [&]<typename Found>(const Found& found) -> Type {
    if constexpr (std::is_same_v<Found, Type>) return found;
    if constexpr (std::is_same_v<Found, space::Null>) return none;
    if constexpr (std::is_same_v<Found, std::int64_t> && std::is_same_v<Type, double>)
      return static_cast<double>(found);
    if constexpr (std::is_constructible_v<space::Value, Found> && std::is_same_v<Type, std::string>)
      return space::to_text(found);
    throw InternalError("a cell of results has another type than its column");
  };
  return std::visit(convert, value);
}

/// @param names  names of the columns in the file
void add_cells(Table& rows, const Cells& cells, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto add = [&]<typename Type>(const Type& none) {
      constexpr bool has_columns = !std::is_same_v<Type, space::Null> && !std::is_same_v<Type, space::Sides>;
      if constexpr (has_columns) rows(names[i], value_as(cells[i].value, none));
    };
    std::visit(add, cells[i].none);
  }
}

/// Returns the names of the columns. A parameter or metric with the name of another column gets a prefix.
std::vector<std::string> names_of(const Cells& columns, const space::SearchSpace& space) {
  std::set<std::string> others;
  for (const trial::Cell& cell : columns) {
    if (cell.topic != Topic::kParameter && cell.topic != Topic::kMetric) others.emplace(cell.name);
  }
  const std::set<std::string> every_run = others;
  std::vector<std::string> names;
  for (const trial::Cell& cell : columns) {
    std::string& name = names.emplace_back(cell.name);
    if (cell.topic != Topic::kMetric) continue;
    others.insert(name);
    if (every_run.contains(name)) others.insert(name.insert(0, "metric_"));
  }
  const auto first = std::ranges::find(columns, Topic::kParameter, &trial::Cell::topic) - columns.begin();
  std::ranges::move(parameter_columns(space, {others.begin(), others.end()}), names.begin() + first);
  return names;
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

void write_courses(Hdf5Image& image, const trial::CommitLog& committed, const TrialTable& table,
                   const LearningCurves& courses, const std::vector<std::string>& values) {
  std::vector<std::string> names;
  for (const trial::Cell& cell : table.columns()) {
    if (cell.topic == Topic::kName) names.emplace_back(cell.name);
  }
  const auto add_point = [&](Table& rows, const Cells& cells, const LearningCurve& course,
                             std::size_t point) {
    add_cells(rows, cells, names);
    rows("step", course.steps[point]);
    for (const std::string& value : values) rows(value, course.value(point, value));
    rows.end_row();
  };
  const auto add_points = [&](Table& rows) {
    if (courses.empty()) return;
    for (const trial::SharedTrial& entry : committed) {
      const auto course = courses.find({entry->trial.name(), entry->timing.started_s});
      if (course == courses.end()) continue;
      const Cells cells = table.row(*entry);
      for (std::size_t i = 0; i < course->second.steps.size(); ++i) add_point(rows, cells, course->second, i);
    }
  };
  Table::write(
      image, "course", [&](Table& rows) { add_point(rows, table.columns(), {.steps = {0}}, 0); }, add_points);
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
                      const std::vector<SlotAccount>& slots, const LearningCurves& courses) {
  require(on_front.size() == committed.size(), "on_front does not have one flag a trial");
  const TrialTable table(space, metrics);
  const std::vector<std::string> names = names_of(table.columns(), space);
  const auto add = [&](Table& rows, const Cells& cells) {
    add_cells(rows, cells, names);
    rows.end_row();
  };

  Hdf5Image image(path, {.user_block = kSealBytes});
  image.write_attribute("/", "format", kTablesFormat);
  image.write_attribute("/", "version", kTablesVersion);
  image.write_attribute("/", "skyline_version", program_version());
  image.write_attribute("/", "config", config_text);
  Table::write(
      image, "trials", [&](Table& rows) { add(rows, table.columns()); },
      [&](Table& rows) {
        for (std::size_t i = 0; i < committed.size(); ++i) add(rows, table.row(*committed[i], on_front[i]));
      });
  write_slots(image, slots);
  write_courses(image, committed, table, courses, course_names(metrics, courses));
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
