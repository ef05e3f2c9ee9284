#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace skyline::search {

struct Algorithm;

/// When trials that are far behind others end early (`search.pruning`).
struct PruningOptions {
  std::vector<std::int64_t> at;  // epochs after which a trial is compared, ascending
  double keep = 0.5;             // share of the known trials in the bar's front and better ones, above 0 to 1
  std::size_t least = 8;         // number of results after a step from which on trials may end there

  static const OptionTable<PruningOptions>& table();
};

/// The kind of `search.pruning`. A key that is not given is not written, so that older runs are the same
/// runs.
OptionKind<std::optional<PruningOptions>> pruning_kind();
/// Returns `pruning` of a `search` section, or nullopt if it has none. @throws UserError for a wrong one
std::optional<PruningOptions> pruning_of(const ConfigNode& section);
/// Refuses `pruning` of a `search` section, as it was written, beside what trains a trial in another way.
/// @param section  the same, complete
/// @param whole    the budget of a whole trial
/// @throws UserError with file, line and key
void check_pruning(const ConfigNode& written, const ConfigNode& section, const Algorithm& algorithm,
                   const trial::Budget& whole);

}  // namespace skyline::search
