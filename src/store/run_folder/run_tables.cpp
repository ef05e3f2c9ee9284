#include "store/run_folder/run_tables.hpp"

#include "skyline/core/error.hpp"

#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/table.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

namespace skyline::store {
namespace {

using trial::CommittedTrial;

constexpr std::string_view kTablesFormat = "skyline-run";
constexpr std::int64_t kTablesVersion = 1;

/// Columns that every run has; a parameter or metric of such a name gets a prefix.
constexpr std::array<std::string_view, 21> kOwnColumns{
    "number", "phase",  "origin",    "iteration", "arch_id",        "epochs",          "seed",
    "status", "reason", "on_front",  "parents",   "inherited_from", "inherited_share", "members",
    "rank",   "slot",   "started_s", "setup_s",   "train_s",        "validate_s",      "latency_s"};

std::string parents_text(const CommittedTrial& committed) {
  std::string text;
  for (const trial::TrialNumber parent : committed.trial.proposal.parents) {
    if (!text.empty()) text += ' ';
    text += std::to_string(parent);
  }
  return text;
}

const trial::Failure* failure(const CommittedTrial& committed) {
  return std::get_if<trial::Failure>(&committed.outcome);
}

std::int64_t inherited_from(const CommittedTrial& committed) {
  const trial::Inherit* inherits = committed.trial.inherits();
  return inherits != nullptr ? static_cast<std::int64_t>(inherits->from) : -1;
}

double inherited_share(const CommittedTrial& committed) {
  const trial::Inherit* inherits = committed.trial.inherits();
  return inherits != nullptr ? inherits->share : std::numeric_limits<double>::quiet_NaN();
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
  const Table& table() const { return table_; }

 private:
  const std::vector<CommittedTrial>& committed_;
  Table table_;
};

void add_identity(TrialTable& table) {
  table.add("number",
            [](const CommittedTrial& entry) { return static_cast<std::int64_t>(entry.trial.number); });
  table.add("phase", [](const CommittedTrial& entry) { return std::string(to_text(entry.trial.phase())); });
  table.add("origin",
            [](const CommittedTrial& entry) { return std::string(to_text(entry.trial.proposal.origin)); });
  table.add("iteration", [](const CommittedTrial& entry) {
    return static_cast<std::int64_t>(entry.trial.proposal.iteration);
  });
  table.add("arch_id",
            [](const CommittedTrial& entry) { return space::to_text(entry.trial.architecture().id); });
}

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// `name`, or with `prefix` if one of the run's own columns has it.
std::string free_name(const std::string& name, const std::string& prefix) {
  const bool taken = std::find(kOwnColumns.begin(), kOwnColumns.end(), name) != kOwnColumns.end() ||
                     is_one_of(objective::computed_metric_names(), name);
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
  table.add("epochs", [](const CommittedTrial& entry) { return entry.trial.budget().epochs; });
  table.add("seed", [](const CommittedTrial& entry) { return entry.trial.seed; });
  table.add("status", [](const CommittedTrial& entry) {
    return std::string(failure(entry) != nullptr ? to_text(failure(entry)->kind) : "ok");
  });
  table.add("reason", [](const CommittedTrial& entry) {
    return failure(entry) != nullptr ? failure(entry)->reason : std::string();
  });
}

void add_timing(TrialTable& table) {
  table.add("rank", [](const CommittedTrial& entry) { return std::int64_t{entry.timing.rank}; });
  table.add("slot", [](const CommittedTrial& entry) { return std::int64_t{entry.timing.slot}; });
  table.add("started_s", [](const CommittedTrial& entry) { return entry.timing.started_s; });
  table.add("setup_s", [](const CommittedTrial& entry) { return entry.timing.setup_s; });
  table.add("train_s", [](const CommittedTrial& entry) { return entry.timing.train_s; });
  table.add("validate_s", [](const CommittedTrial& entry) { return entry.timing.validate_s; });
  table.add("latency_s", [](const CommittedTrial& entry) { return entry.timing.latency_s; });
}

}  // namespace

void write_run_tables(const std::filesystem::path& path, const std::vector<CommittedTrial>& committed,
                      const std::vector<bool>& on_front, const std::vector<std::string>& metrics,
                      const space::SearchSpace& space, const std::string& config_text) {
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
  trials.add("parents", parents_text);
  trials.add("inherited_from", inherited_from);
  trials.add("inherited_share", inherited_share);
  trials.add("members", [](const CommittedTrial& entry) { return std::int64_t{entry.trial.members}; });
  add_timing(trials);

  Hdf5Image image(path, {});
  image.write_attribute("/", "format", kTablesFormat);
  image.write_attribute("/", "version", H5T_NATIVE_INT64, &kTablesVersion);
  image.write_attribute("/", "skyline_version", SKYLINE_VERSION);
  image.write_attribute("/", "config", config_text);
  trials.table().write(image, "trials");
  publish_pieces(path, image.finish());
}

}  // namespace skyline::store
