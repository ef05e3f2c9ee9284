#include "report/text/front_notes.hpp"

#include "core/text/wording.hpp"
#include "report/files/trial_results.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace skyline::report {
namespace {

/// Returns the members of the final front, best first, then those of the search's front.
std::vector<trial::TrialNumber> noted_members(const run::RunState& state) {
  std::vector<trial::TrialNumber> members = front_order(state.final_front());
  for (const trial::TrialNumber number : front_order(state.front())) {
    if (!state.on_final_front(number)) members.push_back(number);
  }
  return members;
}

/// Says of how many trainings the values are the means. Empty without full trainings.
std::string repeats_note(const run::RunState& state) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  std::size_t most = 0;
  std::string failures;
  for (const trial::TrialNumber number : noted_members(state)) {
    const std::vector<run::SharedTrial> repeats = state.final_repeats(number);
    if (repeats.empty()) continue;
    least = std::min(least, repeats.size());
    most = std::max(most, repeats.size());
    const auto failed =
        std::ranges::count_if(repeats, [](const auto& each) { return failure_of(*each) != nullptr; });
    if (failed > 0)
      failures +=
          fmt::format("; trial {}: {} of {} failed (not in its mean)", number, failed, repeats.size());
  }
  if (most == 0) return {};
  if (most == 1)
    return "Full trainings were not repeated, so no deviation is known (`final.repeats: 3` would tell it).\n";
  const std::string count = least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
  return "Full trainings: means of " + count + " repeats, in brackets the standard deviation" + failures +
         ".\n";
}

}  // namespace

std::string front_notes(const ReportInputs& inputs) {
  return repeats_note(inputs.state);
}

}  // namespace skyline::report
