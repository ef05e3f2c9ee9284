#include "store/run_folder/run_tables.hpp"

#include "skyline/core/error.hpp"

#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/table.hpp"
#include "store/publish/publish.hpp"
#include "trial/trial_fields.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace skyline::store {
namespace {

using trial::CommittedTrial;

constexpr std::string_view kTablesFormat = "skyline-run";
constexpr std::int64_t kTablesVersion = 2;

/// Columns of the fields that trials are made of; rows are added trial by trial.
class FieldColumns {
 public:
  FieldColumns() {
    add_row({});  // which makes the columns, also those of a table without rows
    for (auto& [name, column] : columns_) std::visit([](auto& values) { values.clear(); }, column);
  }
  void add_row(const CommittedTrial& entry) {
    trial::for_each_field(*this, entry.trial);
    trial::for_each_timing(*this, entry.timing);
  }
  bool contains(std::string_view name) const {
    return std::ranges::any_of(columns_, [&](const auto& column) { return column.first == name; });
  }
  void add_to(Table& table) const {
    for (const auto& [name, column] : columns_) table.add(name, column);
  }

  void operator()(const char* name, trial::Origin origin) {
    add<std::string>(name, std::string(to_text(origin)));
  }
  void operator()(const char* name, std::int32_t value) { add<std::int64_t>(name, value); }
  void operator()(const char* name, std::uint32_t value) { add<std::int64_t>(name, value); }
  void operator()(const char* name, std::uint64_t value) { add<std::uint64_t>(name, value); }
  void operator()(const char* name, double value) { add<double>(name, value); }
  /// With spaces between them.
  void operator()(const char* name, const std::vector<trial::TrialNumber>& numbers) {
    std::string text;
    for (const trial::TrialNumber number : numbers)
      text += (text.empty() ? "" : " ") + std::to_string(number);
    add<std::string>(name, text);
  }
  /// -1 and NaN where they do not apply.
  void operator()(const char* /*name*/, const trial::Start& start) {
    const auto* inherit = std::get_if<trial::Inherit>(&start);
    const auto* earlier = std::get_if<trial::Continue>(&start);
    add<std::int64_t>("inherited_from", inherit != nullptr ? static_cast<std::int64_t>(inherit->from) : -1);
    add<double>("inherited_share", inherit != nullptr ? inherit->share : std::nan(""));
    add<std::int64_t>("continued_from", earlier != nullptr ? static_cast<std::int64_t>(earlier->from) : -1);
  }

 private:
  template <typename T>
  void add(const std::string& name, T value) {
    auto column = std::ranges::find(columns_, name, &std::pair<std::string, Table::Column>::first);
    if (column == columns_.end()) column = columns_.insert(column, {name, std::vector<T>()});
    std::get<std::vector<T>>(column->second).push_back(std::move(value));
  }

  std::vector<std::pair<std::string, Table::Column>> columns_;
};

/// Whether every run has a column of this name; a parameter or metric of such a name gets a prefix.
bool is_own_column(std::string_view name) {
  static const FieldColumns fields;
  constexpr std::array<std::string_view, 7> kOthers{"number", "position", "phase",   "arch_id",
                                                    "status", "reason",   "on_front"};
  return std::ranges::find(kOthers, name) != kOthers.end() || fields.contains(name);
}

const trial::Failure* failure(const CommittedTrial& committed) {
  return std::get_if<trial::Failure>(&committed.outcome);
}

double measured(const CommittedTrial& committed, std::size_t metric) {
  const auto* measurements = std::get_if<trial::Measurements>(&committed.outcome);
  return measurements != nullptr ? measurements->values.at(metric) : std::numeric_limits<double>::quiet_NaN();
}

/// Adds one column at a time, each filled from every trial.
class TrialTable {
 public:
  explicit TrialTable(const std::vector<CommittedTrial>& committed)
      : committed_(committed), table_(committed.size()) {}

  template <typename Get>
  void add(const std::string& name, Get get) {
    using T = std::decay_t<decltype(get(committed_.front()))>;
    std::vector<T> values;
    values.reserve(committed_.size());
    for (const CommittedTrial& entry : committed_) values.push_back(get(entry));
    table_.add(name, std::move(values));
  }
  void add(const std::string& name, const std::vector<bool>& values) { table_.add(name, values); }
  void add_fields() {
    FieldColumns columns;
    for (const CommittedTrial& entry : committed_) columns.add_row(entry);
    columns.add_to(table_);
  }
  const Table& table() const { return table_; }

 private:
  const std::vector<CommittedTrial>& committed_;
  Table table_;
};

void add_identity(TrialTable& table) {
  table.add("number",
            [](const CommittedTrial& entry) { return static_cast<std::int64_t>(entry.trial.number); });
  table.add("position",
            [](const CommittedTrial& entry) { return static_cast<std::int64_t>(entry.position); });
  table.add("phase", [](const CommittedTrial& entry) { return std::string(to_text(entry.trial.phase())); });
  table.add("arch_id",
            [](const CommittedTrial& entry) { return space::to_text(entry.trial.architecture().id); });
}

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// `name`, or with `prefix` if one of the run's own columns has it.
std::string free_name(const std::string& name, const std::string& prefix) {
  const bool taken = is_own_column(name) || is_one_of(objective::computed_metric_names(), name);
  return taken ? prefix + name : name;
}

/// The column has the type that all values of the parameter share: numbers mix to double, anything else to
/// text.
void add_parameter(TrialTable& table, const space::Parameter& parameter,
                   const std::vector<std::string>& metrics, std::size_t index) {
  const auto all = [&parameter](auto holds) {
    return std::all_of(parameter.values.begin(), parameter.values.end(), holds);
  };
  const auto value = [&parameter, index](const CommittedTrial& entry) -> const space::Value& {
    return parameter.values.at(entry.trial.architecture().genotype.choices.at(index));
  };
  const auto is_flag = [](const space::Value& v) { return std::holds_alternative<bool>(v); };
  const auto is_integer = [](const space::Value& v) { return std::holds_alternative<std::int64_t>(v); };
  const auto is_number = [&](const space::Value& v) {
    return is_integer(v) || std::holds_alternative<double>(v);
  };
  const std::string name = is_one_of(metrics, parameter.name) ? "parameter_" + parameter.name
                                                              : free_name(parameter.name, "parameter_");
  if (all(is_flag)) {
    table.add(name, [&](const CommittedTrial& entry) { return std::get<bool>(value(entry)); });
  } else if (all(is_integer)) {
    table.add(name, [&](const CommittedTrial& entry) { return std::get<std::int64_t>(value(entry)); });
  } else if (all(is_number)) {
    table.add(name, [&](const CommittedTrial& entry) { return space::as_number(value(entry)); });
  } else {
    table.add(name, [&](const CommittedTrial& entry) { return space::to_text(value(entry)); });
  }
}

void add_outcome(TrialTable& table) {
  table.add("status", [](const CommittedTrial& entry) {
    return std::string(failure(entry) != nullptr ? to_text(failure(entry)->kind) : "ok");
  });
  table.add("reason", [](const CommittedTrial& entry) {
    return failure(entry) != nullptr ? failure(entry)->reason : std::string();
  });
}

Table slot_table(const std::vector<SlotAccount>& slots) {
  Table table(slots.size());
  const auto add = [&](const std::string& name, auto get) {
    std::vector<std::decay_t<decltype(get(slots.front()))>> values;
    for (const SlotAccount& slot : slots) values.push_back(get(slot));
    table.add(name, std::move(values));
  };
  add("rank", [](const SlotAccount& slot) { return std::int64_t{slot.rank}; });
  add("slot", [](const SlotAccount& slot) { return std::int64_t{slot.slot}; });
  add("host", [](const SlotAccount& slot) { return slot.host; });
  add("trials", [](const SlotAccount& slot) { return static_cast<std::int64_t>(slot.trials); });
  add("setup_s", [](const SlotAccount& slot) { return slot.setup_s; });
  add("train_s", [](const SlotAccount& slot) { return slot.train_s; });
  add("validate_s", [](const SlotAccount& slot) { return slot.validate_s; });
  add("latency_s", [](const SlotAccount& slot) { return slot.latency_s; });
  add("idle_s", [](const SlotAccount& slot) { return slot.idle_s; });
  return table;
}

}  // namespace

void write_run_tables(const std::filesystem::path& path, const std::vector<CommittedTrial>& committed,
                      const std::vector<bool>& on_front, const std::vector<std::string>& metrics,
                      const space::SearchSpace& space, const std::string& config_text,
                      const std::vector<SlotAccount>& slots) {
  require(on_front.size() == committed.size(), "on_front does not have one flag a trial");
  TrialTable trials(committed);
  add_identity(trials);
  for (std::size_t i = 0; i < space.parameters().size(); ++i) {
    add_parameter(trials, space.parameters()[i], metrics, i);
  }
  add_outcome(trials);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    trials.add(free_name(metrics[i], "metric_"),
               [i](const CommittedTrial& entry) { return measured(entry, i); });
  }
  for (const std::string& name : objective::computed_metric_names()) {
    trials.add(name, [&name](const CommittedTrial& entry) {
      return objective::computed_metric(entry.trial.architecture().network, name);
    });
  }
  trials.add("on_front", on_front);
  trials.add_fields();

  Hdf5Image image(path, {});
  image.write_attribute("/", "format", kTablesFormat);
  image.write_attribute("/", "version", H5T_NATIVE_INT64, &kTablesVersion);
  image.write_attribute("/", "skyline_version", SKYLINE_VERSION);
  image.write_attribute("/", "config", config_text);
  trials.table().write(image, "trials");
  slot_table(slots).write(image, "slots");
  publish_pieces(path, image.finish());
}

}  // namespace skyline::store
