#include "trial/column_names.hpp"

#include "trial/trial_fields.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace skyline::trial {
namespace {

/// The columns that are no fields of a trial (trial_fields.hpp). Those of the second line are
/// search_state.csv's.
constexpr std::array<std::string_view, 18> kOthers{"number",       "position",
                                                   "phase",        "final_repeat",
                                                   "arch_id",      "status",
                                                   "reason",       "on_front",
                                                   "step",         "archid",
                                                   "trial",        "iteration_num",
                                                   "parent",       "search_walltime_hours",
                                                   "is_pareto",    "is_final_pareto",
                                                   "final_epochs", "final_repeats"};

}  // namespace

bool is_column_name(std::string_view name) {
  if (std::ranges::find(kOthers, name) != kOthers.end()) return true;
  std::vector<Cell> cells;
  add_fields(cells, {});
  add_timing(cells, {});
  return std::ranges::find(cells, name, &Cell::name) != cells.end();
}

}  // namespace skyline::trial
