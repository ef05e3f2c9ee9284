#include "report/text/run_account.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace skyline::report {
namespace {

constexpr std::size_t kMostSlotRows = 16;

struct TimePart {
  const char* title;
  double run::SlotAccount::*seconds;
  bool always = true;  // whether its column is shown even if it is 0 everywhere
};

using Slot = run::SlotAccount;
constexpr std::array kTimeParts{TimePart{"set-up s", &Slot::setup_s},
                                TimePart{"training s", &Slot::train_s},
                                TimePart{"validation s", &Slot::validate_s},
                                TimePart{"latency s", &Slot::latency_s},
                                TimePart{"wait: work s", &Slot::wait_work_s},
                                TimePart{"wait: device s", &Slot::wait_device_s, false},
                                TimePart{"wait: files s", &Slot::wait_files_s, false},
                                TimePart{"wait: MPI s", &Slot::wait_ranks_s, false}};

/// A row of the table: one slot, the slots of one node, or all.
struct AccountRow {
  std::string label;
  run::SlotAccount sum;
  std::size_t slots = 0;

  void add(const run::SlotAccount& slot) {
    sum.trials += slot.trials;
    for (const TimePart& part : kTimeParts) sum.*part.seconds += slot.*part.seconds;
    ++slots;
  }
};

/// The meaning of a row: a job if there are several, else a slot, or a node with all its slots.
enum class RowKind { kJob, kNode, kSlot };

RowKind kind_of(const run::RunAccount& account) {
  if (account.slots.front().job != account.slots.back().job) return RowKind::kJob;
  return account.slots.size() > kMostSlotRows ? RowKind::kNode : RowKind::kSlot;
}

std::string label_of(const run::SlotAccount& slot, RowKind kind) {
  if (kind == RowKind::kJob) return fmt::format("job {}", slot.job);
  return kind == RowKind::kNode ? slot.host
                                : fmt::format("rank {} slot {} {}", slot.rank, slot.slot, slot.host);
}

std::vector<AccountRow> rows_of(const run::RunAccount& account, RowKind kind) {
  std::vector<AccountRow> rows;
  for (const run::SlotAccount& slot : account.slots) {
    const std::string label = label_of(slot, kind);
    auto row = std::ranges::find(rows, label, &AccountRow::label);
    if (row == rows.end()) row = rows.insert(rows.end(), {label, {}, 0});
    row->add(slot);
  }
  return rows;
}

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string seconds_in(const AccountRow& row, const TimePart& part) {
  return fmt::format("{:.1f}", row.sum.*part.seconds);
}

/// Returns the parts that get a column. @param all  the sum over all slots
std::vector<TimePart> shown_parts(const AccountRow& all) {
  std::vector<TimePart> shown;
  std::ranges::copy_if(kTimeParts, std::back_inserter(shown),
                       [&](const TimePart& part) { return part.always || seconds_in(all, part) != "0.0"; });
  return shown;
}

std::vector<std::string> cells_of(const AccountRow& row, const std::vector<TimePart>& parts) {
  std::vector<std::string> cells{row.label, std::to_string(row.slots), std::to_string(row.sum.trials)};
  for (const TimePart& part : parts) cells.push_back(seconds_in(row, part));
  const double available_s = row.sum.wall_s();
  cells.push_back(available_s > 0 ? percent_text(row.sum.busy_s() / available_s) : "-");
  return cells;
}

TextTable empty_table(RowKind kind, const std::vector<TimePart>& parts, const AccountRow& all) {
  TextTable table;
  const char* title = kind == RowKind::kJob ? "job" : kind == RowKind::kNode ? "node" : "slot";
  table.add_column(title, TextTable::Align::kLeft);
  constexpr auto kRight = TextTable::Align::kRight;
  constexpr int kRankOfNothing = 2;  // rank of a column that is 0 everywhere
  table.add_column("slots", kRight, "", kind == RowKind::kSlot ? kRankOfNothing : 0);
  table.add_column("trials");
  for (const TimePart& part : parts) {
    table.add_column(part.title, kRight, "",
                     seconds_in(all, part) == "0.0" ? kRankOfNothing
                     : part.always                  ? 0
                                                    : 1);
  }
  table.add_column("utilization");
  return table;
}

using trial::TrialTiming;

struct TracePart {
  std::string_view name;
  double TrialTiming::*seconds;
};
constexpr std::array kTraceParts{TracePart{"waiting for files", &TrialTiming::wait_files_s},
                                 TracePart{"set-up", &TrialTiming::setup_s},
                                 TracePart{"waiting for ranks", &TrialTiming::wait_ranks_s},
                                 TracePart{"training", &TrialTiming::train_s},
                                 TracePart{"validation", &TrialTiming::validate_s},
                                 TracePart{"latency", &TrialTiming::latency_s}};

/// The parts of a trial that the trace shows.
struct TracedTrial {
  trial::TrialName name;
  bool failed = false;
  TrialTiming timing;
};

std::int64_t microseconds(double seconds) {
  return std::llround(1e6 * seconds);
}

/// The growing list of events.
class TraceText {
 public:
  /// @param phase  type of event in the format: "X" for a slice, "M" for a name
  void add(const TrialTiming& place, std::string_view phase, std::string_view name, std::string_view rest) {
    fmt::format_to(std::back_inserter(text_),
                   "{}\n{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"name\":\"{}\",{}}}", text_.empty() ? "" : ",",
                   phase, place.rank, place.slot, name, rest);
  }
  void add_slice(const TrialTiming& place, std::string_view name, std::int64_t start_us,
                 std::int64_t end_us) {
    add(place, "X", name, fmt::format("\"ts\":{},\"dur\":{}", start_us, end_us - start_us));
  }
  std::string text() const { return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + text_ + "\n]}\n"; }

 private:
  std::string text_;
};

/// Returns the trials ordered by rank, slot and time.
std::vector<TracedTrial> traced_trials(const run::RunState& state) {
  std::vector<TracedTrial> trials;
  trials.reserve(state.trials().size());
  for (const run::SharedTrial& each : state.trials()) {
    trials.push_back(
        {each->trial.name(), std::holds_alternative<trial::Failure>(each->outcome), each->timing});
  }
  std::ranges::sort(trials, {}, [](const TracedTrial& each) {
    return std::tuple(each.timing.rank, each.timing.slot, each.timing.started_s);
  });
  return trials;
}

void add_names(TraceText& trace, const run::RunAccount& account, std::span<const TracedTrial> trials) {
  std::map<int, std::string> hosts;  // hosts in the last job
  for (const run::SlotAccount& slot : account.slots) hosts[slot.rank] = slot.host;
  const auto is_another_place = [](const TracedTrial& left, const TracedTrial& right) {
    return left.timing.rank != right.timing.rank || left.timing.slot != right.timing.slot;
  };
  const auto name_argument = [](const std::string& name) {
    return "\"args\":" + nlohmann::json{{"name", name}}.dump();
  };
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (i > 0 && !is_another_place(trials[i - 1], trials[i])) continue;
    const TrialTiming& place = trials[i].timing;
    const std::string host = hosts.contains(place.rank) ? " " + hosts.at(place.rank) : "";
    trace.add(place, "M", "process_name", name_argument(fmt::format("rank {}{}", place.rank, host)));
    trace.add(place, "M", "thread_name", name_argument(fmt::format("slot {}", place.slot)));
  }
}

/// Adds a slice with its parts below it.
/// @param trials  consecutive trials of a slot
void add_trials(TraceText& trace, std::span<const TracedTrial> trials) {
  const TracedTrial& first = trials.front();
  const TrialTiming& last = trials.back().timing;
  const std::string name = trials.size() > 1
                               ? fmt::format("{} trials", trials.size())
                               : "trial " + trial::to_text(first.name) + (first.failed ? " failed" : "");
  const std::int64_t end_us = microseconds(last.started_s + last.total_s());
  std::int64_t start_us = microseconds(first.timing.started_s);
  trace.add_slice(first.timing, name, start_us, end_us);
  for (const TracePart& part : kTraceParts) {
    double seconds = 0;
    for (const TracedTrial& each : trials) seconds += each.timing.*part.seconds;
    const std::int64_t part_end_us = std::min(end_us, start_us + microseconds(seconds));
    if (part_end_us <= start_us) continue;
    trace.add_slice(first.timing, part.name, start_us, part_end_us);
    start_us = part_end_us;
  }
}

/// Returns the texts that slots have, each once, in their order.
std::string each_once(const run::RunAccount& account, std::string store::SlotAccount::*text) {
  std::vector<std::string> texts;
  for (const run::SlotAccount& slot : account.slots) {
    const std::string& own = slot.*text;
    if (!own.empty() && std::ranges::find(texts, own) == texts.end()) texts.push_back(own);
  }
  return joined(texts, "; ");
}

/// Returns how many ranks the last job had.
int ranks_of(const run::RunAccount& account) {
  int last = 0;
  for (const run::SlotAccount& slot : account.slots) {
    if (slot.job == account.slots.back().job) last = std::max(last, slot.rank);
  }
  return last + 1;
}

/// Returns the command that trains the models of another run again, as far as this run took them from one.
std::string train_words(const ConfigNode& config) {
  const ConfigNode* const search = config.is_map() ? config.find("search") : nullptr;
  const ConfigNode* const from = search == nullptr ? nullptr : search->find("from");
  if (from == nullptr || from->as_text().empty()) return {};
  std::vector<std::string> numbers;
  for (const ConfigNode& number : search->at("numbers").items()) numbers.push_back(number.as_text());
  return "train " + in_shell(from->as_text()) + " --trial " + joined(numbers, ",") + " --epochs " +
         config.at("final").at("epochs").as_text() + " --seeds " + search->at("seeds").as_text() +
         " --seed " + config.at("run").at("seed").as_text();
}

}  // namespace

std::string account_table(const run::RunAccount& account, std::size_t columns) {
  if (account.slots.empty()) return "no slot worked in this job\n";

  const RowKind kind = kind_of(account);
  const std::vector<AccountRow> rows = rows_of(account, kind);
  AccountRow all{"all", {}, 0};
  for (const run::SlotAccount& slot : account.slots) all.add(slot);
  const std::vector<TimePart> parts = shown_parts(all);
  TextTable table = empty_table(kind, parts, all);
  for (const AccountRow& row : rows) table.add_row(cells_of(row, parts));
  table.add_rule();
  table.add_row(cells_of(all, parts));
  table.fit(columns);
  return table.text() +
         fmt::format("utilization {}: {:.1f} s of training, validation and latency in {} over {:.1f} s\n",
                     percent_text(account.utilization()), all.sum.busy_s(),
                     kind == RowKind::kJob ? counted(rows.size(), "job") : counted(all.slots, "slot"),
                     account.wall_s);
}

std::string trace_json(const run::RunState& state, const run::RunAccount& account, std::size_t most_trials) {
  const std::vector<TracedTrial> all = traced_trials(state);
  const std::size_t together = std::max<std::size_t>(1, (all.size() + most_trials - 1) / most_trials);
  TraceText trace;
  add_names(trace, account, all);
  for (std::span<const TracedTrial> rest(all); !rest.empty();) {
    const TrialTiming& place = rest.front().timing;
    std::size_t count = 1;
    while (count < std::min(together, rest.size()) && rest[count].timing.rank == place.rank &&
           rest[count].timing.slot == place.slot) {
      ++count;
    }
    add_trials(trace, rest.first(count));
    rest = rest.subspan(count);
  }
  return trace.text();
}

std::string programs_text(const run::OpenedRun& opened) {
  const std::string programs = each_once(opened.account, &store::SlotAccount::program);
  return programs.empty() ? opened.header.skyline_version : programs;
}

std::string processors_text(const run::RunAccount& account) {
  return each_once(account, &store::SlotAccount::processor);
}

std::string repeat_line(const run::OpenedRun& opened) {
  const int ranks = ranks_of(opened.account);
  std::string words = train_words(opened.config);
  if (words.empty()) words = "search " + in_shell(opened.paths.config().string());
  const std::filesystem::path root = (opened.paths.root / "").parent_path();
  return (ranks > 1 ? "mpirun -np " + std::to_string(ranks) + " " : "") + "skyline " + words + " --run " +
         in_shell(root.string() + "-again");
}

}  // namespace skyline::report
