#include "trial/column_names.hpp"

#include "trial/trial_fields.hpp"

#include <algorithm>
#include <array>

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
  bool found = false;
  for (const NamedValue& field : field_values({})) found = found || field.name == name;
  const TrialTiming timing;
  for_each_timing([&](std::string_view field, const auto& /*value*/) { found = found || field == name; },
                  timing);
  return found;
}

}  // namespace skyline::trial
