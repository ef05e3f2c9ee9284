#include "report/text/account_table.hpp"

#include "core/text/wording.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include <fmt/format.h>

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

}  // namespace skyline::report
