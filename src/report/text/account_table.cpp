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

std::vector<AccountRow> rows_by_slot(const run::RunAccount& account) {
  std::vector<AccountRow> rows;
  for (const run::SlotAccount& slot : account.slots) {
    rows.push_back({fmt::format("rank {} slot {} {}", slot.rank, slot.slot, slot.host), {}, 0});
    rows.back().add(slot);
  }
  return rows;
}

std::vector<AccountRow> rows_by_node(const run::RunAccount& account) {
  std::vector<AccountRow> rows;
  for (const run::SlotAccount& slot : account.slots) {
    auto row =
        std::find_if(rows.begin(), rows.end(), [&](const auto& each) { return each.label == slot.host; });
    if (row == rows.end()) row = rows.insert(rows.end(), {slot.host, {}, 0});
    row->add(slot);
  }
  return rows;
}

double busy_s(const run::SlotAccount& slot) {
  return slot.train_s + slot.validate_s + slot.latency_s;
}

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::vector<std::string> cells_of(const AccountRow& row, double wall_s) {
  const double available_s = wall_s * static_cast<double>(row.slots);
  const auto seconds = [](double value) { return fmt::format("{:.1f}", value); };
  return {row.label,
          std::to_string(row.slots),
          std::to_string(row.sum.trials),
          seconds(row.sum.setup_s),
          seconds(row.sum.train_s),
          seconds(row.sum.validate_s),
          seconds(row.sum.latency_s),
          seconds(row.sum.idle_s),
          available_s > 0 ? percent_text(busy_s(row.sum) / available_s) : "-"};
}

TextTable empty_table(bool by_slot) {
  TextTable table;
  table.add_column(by_slot ? "slot" : "node", TextTable::Align::kLeft);
  for (const char* title :
       {"slots", "trials", "set-up s", "training s", "validation s", "latency s", "idle s", "utilization"}) {
    table.add_column(title);
  }
  return table;
}

}  // namespace

std::string account_table(const run::RunAccount& account) {
  if (account.slots.empty()) return "no slot worked in this job\n";

  const bool by_slot = account.slots.size() <= kMostSlotRows;
  TextTable table = empty_table(by_slot);
  for (const AccountRow& row : by_slot ? rows_by_slot(account) : rows_by_node(account)) {
    table.add_row(cells_of(row, account.wall_s));
  }
  AccountRow all{"all", {}, 0};
  for (const run::SlotAccount& slot : account.slots) all.add(slot);
  table.add_rule();
  table.add_row(cells_of(all, account.wall_s));
  return table.text() +
         fmt::format(
             "utilization {}: {:.1f} s of training, validation and latency in {} slot{} over {:.1f} s\n",
             percent_text(account.utilization()), busy_s(all.sum), all.slots, all.slots == 1 ? "" : "s",
             account.wall_s);
}

}  // namespace skyline::report
