#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/space/search_space.hpp"

#include "run/account.hpp"
#include "run/run_state.hpp"
#include "store/journal/journal.hpp"
#include "store/run_folder/run_folder.hpp"

#include <filesystem>

namespace skyline::run {

/// A run as its folder tells it: on any machine, without its data set, while it runs, stopped or finished.
struct OpenedRun {
  store::RunPaths paths;
  ConfigNode config;  // complete
  space::SearchSpace space;
  store::JournalHeader header;
  RunState state;      // objectives, trials and fronts, from the journal as it is now
  RunAccount account;  // of all jobs, as of the last time that results were written; empty: not yet

  /// Reads the folder and changes nothing.
  /// @throws UserError if there is no run in the folder, or a file of it is damaged
  static OpenedRun open(const std::filesystem::path& folder);
};

}  // namespace skyline::run
