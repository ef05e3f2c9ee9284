#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/trial/metric.hpp"

#include "run/account.hpp"
#include "run/run_state.hpp"
#include "store/journal/journal.hpp"
#include "store/run_folder/run_folder.hpp"

#include <filesystem>
#include <span>
#include <vector>

namespace skyline::run {

/// Returns the baselines as the value of `data.yardsticks` in a run's config.yaml: a map from metrics to
/// `samples`, `scored` and `constant`; null if there are none.
ConfigNode baselines_node(std::span<const trial::Baseline> baselines);
/// Returns the baselines of a run; none if its configuration states none. @throws UserError
std::vector<trial::Baseline> baselines_of(const ConfigNode& config);

/// A run as its folder describes it, while it runs, when it was stopped or has finished. It can be opened on
/// any machine, without the data set.
struct OpenedRun {
  store::RunPaths paths;
  ConfigNode config;  // the complete configuration
  space::SearchSpace space;
  store::JournalHeader header;
  RunState state;      // objectives, trials and fronts, from the journal as it is now
  RunAccount account;  // all jobs, as results were last written; empty before that

  /// Reads the folder and changes nothing. Warns of what is left out: a damaged last line of the journal, or
  /// a run.h5 that is damaged, missing or of another run; and of lines that are missing (store::JournalEnd).
  /// @throws UserError if there is no run in the folder, one of its files is damaged, or the journal has
  ///         fewer trials than the last job had when it ended
  static OpenedRun open(const std::filesystem::path& folder);
};

}  // namespace skyline::run
