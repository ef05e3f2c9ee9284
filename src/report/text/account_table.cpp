#include "core/text/wording.hpp"
#include "report/report.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace skyline::report {
namespace {

constexpr std::size_t kMostSlotRows = 16;

/// A row of the table: one slot, the slots of one node, or all.
struct AccountRow {
  std::string label;
  run::SlotAccount sum;
  std::size_t slots = 0;

  void add(const run::SlotAccount& slot) {
    sum.trials += slot.trials;
    sum.setup_s += slot.setup_s;
    sum.train_s += slot.train_s;
    sum.validate_s += slot.validate_s;
    sum.latency_s += slot.latency_s;
    sum.idle_s += slot.idle_s;
    ++slots;
  }
};

/// What a row stands for: a job where there are several; else a slot, or a node with its slots.
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

std::vector<std::string> cells_of(const AccountRow& row) {
  const double available_s = row.sum.wall_s();
  const auto seconds = [](double value) { return fmt::format("{:.1f}", value); };
  return {row.label,
          std::to_string(row.slots),
          std::to_string(row.sum.trials),
          seconds(row.sum.setup_s),
          seconds(row.sum.train_s),
          seconds(row.sum.validate_s),
          seconds(row.sum.latency_s),
          seconds(row.sum.idle_s),
          available_s > 0 ? percent_text(row.sum.busy_s() / available_s) : "-"};
}

TextTable empty_table(RowKind kind) {
  TextTable table;
  const char* title = kind == RowKind::kJob ? "job" : kind == RowKind::kNode ? "node" : "slot";
  table.add_column(title, TextTable::Align::kLeft);
  for (const char* amount :
       {"slots", "trials", "set-up s", "training s", "validation s", "latency s", "idle s", "utilization"}) {
    table.add_column(amount);
  }
  return table;
}

}  // namespace

std::string account_table(const run::RunAccount& account) {
  if (account.slots.empty()) return "no slot worked in this job\n";

  const RowKind kind = kind_of(account);
  TextTable table = empty_table(kind);
  const std::vector<AccountRow> rows = rows_of(account, kind);
  for (const AccountRow& row : rows) table.add_row(cells_of(row));
  AccountRow all{"all", {}, 0};
  for (const run::SlotAccount& slot : account.slots) all.add(slot);
  table.add_rule();
  table.add_row(cells_of(all));
  return table.text() +
         fmt::format("utilization {}: {:.1f} s of training, validation and latency in {} over {:.1f} s\n",
                     percent_text(account.utilization()), all.sum.busy_s(),
                     kind == RowKind::kJob ? counted(rows.size(), "job") : counted(all.slots, "slot"),
                     account.wall_s);
}

}  // namespace skyline::report
