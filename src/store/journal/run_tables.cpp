#include "store/journal/run_tables.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "core/version.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/hdf5/sealed_file.hpp"
#include "store/hdf5/table.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "trial/refit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

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

using trial::CellValue;

/// Numbers give NaN, also beside null; values of different types give an empty text.
CellValue empty_value(const std::vector<space::Value>& values) {
  const auto count = [&]<typename Type>(Type /*type*/) {
    return std::ranges::count_if(values,
                                 [](const auto& value) { return std::holds_alternative<Type>(value); });
  };
  const auto integers = count(std::int64_t());
  const auto numbers = integers + count(double());
  if (count(bool()) == std::ssize(values)) return false;
  if (integers == std::ssize(values)) return std::int64_t{0};
  if (numbers > 0 && numbers + count(space::Null()) == std::ssize(values)) return std::nan("");
  return std::string();
}

/// Returns how many trials were committed, and are durable, when the last job ended; 0 if it did not say.
std::size_t committed_at_end(const std::string& status) {
  try {
    const auto json = nlohmann::ordered_json::parse(shallow_json(status));
    const bool ended = json.at("state") == "finished" || json.at("state") == "stopped";
    const nlohmann::ordered_json& committed = json.at("committed");
    return ended && committed.is_number_unsigned() ? committed.get<std::size_t>() : 0;
  } catch (const nlohmann::ordered_json::exception&) {
    return 0;
  }
}

StoredTables read_tables(const std::filesystem::path& path) {
  try {
    return read_run_tables(path);
  } catch (const UserError& problem) {
    log::warning(std::string(problem.what()) + "; the account of the run's earlier jobs is lost");
    return {};
  }
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

TrialTable::TrialTable(const space::SearchSpace& space, const std::vector<trial::Metric>& metrics)
    : space_(space), metrics_(metrics) {
  for (const space::Parameter& parameter : space.parameters())
    empty_.push_back(empty_value(parameter.values));
}

std::vector<trial::Cell> TrialTable::row(const trial::CommittedTrial& committed, bool on_front) const {
  const trial::Trial& trial = committed.trial;
  const space::Architecture& architecture = trial.architecture();
  std::vector<trial::Cell> cells;
  const auto add = [&cells](Topic topic, std::string_view name, auto value) {
    cells.push_back({topic, name, value, decltype(value)()});
  };
  add(Topic::kName, "number", static_cast<std::int64_t>(trial.number));
  add(Topic::kName, "position", static_cast<std::int64_t>(committed.position));
  add(Topic::kName, "phase", std::string(to_text(trial.phase())));
  add(Topic::kName, "final_repeat", trial::is_refit(trial) ? -1 : std::int64_t{trial.proposal.final_repeat});
  add(Topic::kArchitecture, "arch_id", space::to_text(architecture.id));
  for (std::size_t p = 0; p < empty_.size(); ++p) {
    const space::Parameter& parameter = space_.parameters()[p];
    const space::Value& value = parameter.values.at(architecture.genotype.choices.at(p));
    cells.push_back({Topic::kParameter, parameter.name, {}, empty_[p], architecture.used.at(p)});
    std::visit([&](const auto& of) { cells.back().value = of; }, value);
  }
  add(Topic::kOutcome, "status", status_of(committed));
  add(Topic::kOutcome, "reason", trial::reason_of(committed.outcome));
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    cells.push_back({Topic::kMetric, metrics_[i].name, space::Null(), std::nan("")});
    const auto* measured = std::get_if<trial::Measurements>(&committed.outcome);
    const double value = measured == nullptr ? std::nan("") : measured->values.at(i);
    if (!std::isnan(value)) cells.back().value = value;
  }
  for (const space::NamedCost& cost : space_.costs()) {
    cells.push_back({Topic::kCost, cost.name, architecture.cost.*cost.value, std::nan("")});
  }
  const auto add_known = [&](std::string_view metric) {
    const double value = architecture.given(metric).value_or(std::nan(""));
    cells.push_back({Topic::kCost, metric, value, std::nan("")});
  };
  std::ranges::for_each(space_.given(), add_known);
  std::ranges::for_each(space_.counted(), add_known);
  add(Topic::kFront, "on_front", on_front);
  trial::add_fields(cells, trial);
  trial::add_timing(cells, committed.timing);
  return cells;
}

std::vector<trial::Cell> TrialTable::columns() const {
  auto any = std::make_shared<space::Architecture>();
  any->genotype.choices.resize(empty_.size());
  any->used.resize(empty_.size());
  trial::CommittedTrial committed;
  committed.trial.proposal.architecture = std::move(any);
  committed.outcome = trial::Failure{};
  return row(committed);
}

std::string status_of(const trial::CommittedTrial& committed) {
  return std::string(trial::status_of(committed.outcome));
}

JournalEnd::JournalEnd(const RunPaths& paths) : paths_(paths) {
  try {
    if (store::exists(paths.status_json())) committed_ = committed_at_end(read_run_file(paths.status_json()));
  } catch (const UserError&) {  // the file cannot be read; commands that show the status say so
  }
  if (store::exists(paths.tables())) {
    tables_ = read_tables(paths.tables());
  } else if (committed_ > 0) {
    log::warning(paths.tables().string() + ": missing; the account of the run's earlier jobs is lost");
  }
}

std::string JournalEnd::loss(std::span<const double> started_s, bool torn_tail) const {
  const std::size_t listed = has_foreign_tables(started_s) ? 0 : tables_.started_s.size();
  const std::size_t expected = std::max(committed_, listed);
  if (started_s.size() >= expected) return {};
  return paths_.journal().string() + ": " +
         (torn_tail ? "its last line is damaged" : "lines are missing at its end") + ": expected " +
         counted(expected, "trial") + ", as " + (committed_ < listed ? "run.h5" : "status.json") +
         " says, got " + std::to_string(started_s.size());
}

void JournalEnd::check(std::span<const double> started_s, bool torn_tail) const {
  const std::string lost = loss(started_s, torn_tail);
  if (started_s.size() < committed_) {
    throw UserError(lost + " (restore the file, or train again what is lost, with skyline search --run " +
                    paths_.root.string() + " --resume)");
  }
  if (has_foreign_tables(started_s)) {
    log::warning(
        paths_.tables().string() +
        ": is of another run, since none of its trials is in journal.jsonl: it is left out, and with "
        "it the account of time");
  }
  if (lost.empty() && !torn_tail) return;
  const std::optional<RunOwner> owner = read_owner(paths_);
  if (owner && owner->active) return;  // the line is being written
  if (lost.empty()) {
    log::warning(paths_.journal().string() +
                 ": left out a damaged last line; search --resume trains its trial again");
  } else {
    log::warning(lost + "; search --resume trains again what is lost");
  }
}

bool JournalEnd::has_foreign_tables(std::span<const double> started_s) const {
  const std::size_t shared = std::min(started_s.size(), tables_.started_s.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if (started_s[i] == tables_.started_s[i]) return false;
  }
  return shared > 0;
}

std::vector<SlotAccount> JournalEnd::account(std::span<const double> started_s) const {
  return has_foreign_tables(started_s) ? std::vector<SlotAccount>() : tables_.slots;
}

}  // namespace skyline::store
