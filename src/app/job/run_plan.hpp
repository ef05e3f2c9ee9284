#pragma once

#include "skyline/core/exit_code.hpp"

#include "app/config/run_config.hpp"
#include "app/job/asked.hpp"
#include "app/job/stop_request.hpp"
#include "engine/engine_job.hpp"
#include "report/text/status.hpp"
#include "store/journal/journal.hpp"
#include "store/journal/run_tables.hpp"
#include "store/run_folder/run_folder.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {

/// The plan of a job. Rank 0 makes it, and shares the first three members with all ranks.
struct RunPlan {
  int exit_code = kExitDone;                // another exit code ends the job before its search
  std::optional<double> seconds_left = {};  // time left for the job; nullopt without a limit
  RunConfig config = {};
  std::unique_ptr<store::RunClaim> claim = {};
  std::unique_ptr<search::Searcher> searcher = {};
  std::optional<store::JournalContents> replay = {};
  std::vector<store::SlotAccount> earlier = {};  // account of the run's earlier jobs
  std::vector<std::string> processors = {};      // model of each rank's processors
  store::Checksums programs = {};  // the user's programs now, as far as the run has recorded them
};

/// Reads the configuration, claims the run folder, and checks what an earlier job left in it. Rank 0 calls
/// it. @throws UserError
/// @param asked      has the configuration if it could be read
/// @param signature  beginning of its lines in the log
/// @param stop       gets the configured time limit before anything is waited for
RunPlan make_plan(const SearchArguments& arguments, const Asked& asked, const std::string& signature,
                  StopRequest& stop, const comm::Launch& launch);

/// Does rank 0's part: searches, shows the progress and ends with the results. Returns kExitDone,
/// kExitStopped, or kExitNoFront, and whether there was progress. Collective.
/// @param plan  keeps the claim on the folder
report::JobEnding coordinate(comm::Environment& environment, const engine::SearchTask& task,
                             const engine::RunFiles& files, const engine::JobCallbacks& callbacks,
                             RunPlan& plan, bool quiet, const StopRequest& stop);

}  // namespace skyline::app
