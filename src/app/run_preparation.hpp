#pragma once

#include "skyline/app/commands.hpp"
#include "skyline/app/run_config.hpp"
#include "skyline/store/journal.hpp"
#include "skyline/store/run_folder.hpp"

#include "app/job_stop.hpp"

#include <memory>
#include <optional>
#include <string>

namespace skyline::app {

/// What rank 0 finds out before the other ranks are asked to do anything.
struct PreparedRun {
  RunConfig config;
  std::unique_ptr<store::RunClaim> claim;
  std::optional<store::JournalContents> replay;
};

/// Rank 0: reads the configuration, claims the run folder, checks what an earlier job left in it.
/// @param signature  in front of its lines in the log
/// @param stop       is told of the configured time limit before anything is waited for
/// @return           nothing if the job was to stop before the folder was free
/// @throws UserError
std::optional<PreparedRun> prepare_run(const SearchArguments& arguments, const std::string& signature,
                                       JobStop& stop, const comm::Launch& launch);

}  // namespace skyline::app
