#pragma once

#include "app/config/run_config.hpp"
#include "app/job/asked.hpp"
#include "app/job/stop_request.hpp"
#include "engine/engine_job.hpp"
#include "store/journal/journal.hpp"
#include "store/journal/run_tables.hpp"
#include "store/run_folder/run_folder.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {

/// The result of rank 0's preparation, before the other ranks do anything.
struct PreparedRun {
  RunConfig config;
  std::unique_ptr<store::RunClaim> claim;
  std::optional<store::JournalContents> replay;
  std::vector<store::SlotAccount> earlier = {};     // account of the run's earlier jobs
  std::vector<std::string> processors = {};         // model of each rank's processors
  std::unique_ptr<search::Searcher> searcher = {};
  bool progress = false;                            // RunResult::progress, once the search has ended
  store::Checksums programs = {};  // the user's programs now, as far as the run has recorded them
};

/// Reads the configuration, claims the run folder, and checks what an earlier job left in it. Rank 0 calls
/// it. Returns nullopt if the job should stop before the folder was free. @throws UserError
/// @param asked      has the configuration if it could be read
/// @param signature  beginning of its lines in the log
/// @param stop       gets the configured time limit before anything is waited for
std::optional<PreparedRun> prepare_run(const SearchArguments& arguments, const Asked& asked,
                                       const std::string& signature, StopRequest& stop,
                                       const comm::Launch& launch);

/// Does rank 0's part: searches, shows the progress and ends with the results. Returns kExitDone,
/// kExitStopped, or kExitNoFront. Collective.
/// @param prepared  keeps the claim on the folder
int search_as_coordinator(comm::Environment& environment, const engine::SearchTask& task,
                          const engine::RunFiles& files, engine::JobCallbacks end, PreparedRun& prepared,
                          const RunConfig& config, bool quiet, StopRequest& stop);

}  // namespace skyline::app
