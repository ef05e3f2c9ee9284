#pragma once

#include "app/config/run_config.hpp"
#include "app/job/job_stop.hpp"
#include "app/job/search_arguments.hpp"
#include "engine/engine_job.hpp"
#include "store/journal/journal.hpp"
#include "store/journal/run_tables.hpp"
#include "store/run_folder/run_folder.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {

/// The result of rank 0's part of the start, before the other ranks do anything.
struct PreparedRun {
  ConfigNode config;  // complete, as config.yaml has it
  std::unique_ptr<store::RunClaim> claim;
  std::optional<store::JournalContents> replay;
  std::vector<store::SlotAccount> earlier = {};  // account of the run's earlier jobs
};

/// Rank 0: reads the configuration, claims the run folder, checks what an earlier job left in it.
/// @param signature  in front of its lines in the log
/// @param stop       is told of the configured time limit before anything is waited for
/// @return           nothing if the job was to stop before the folder was free
/// @throws UserError
std::optional<PreparedRun> prepare_run(const SearchArguments& arguments, const std::string& signature,
                                       JobStop& stop, const comm::Launch& launch);

/// Collective, rank 0's part: searches, shows how it goes and ends with the results.
/// @param prepared  keeps the claim on the folder
/// @return  the exit code: kExitDone, kExitStopped, or kExitNoFront
int search_as_coordinator(comm::Environment& environment, const engine::SearchTask& task,
                          const engine::RunFiles& files, engine::JobEnd end, PreparedRun& prepared,
                          const RunConfig& config, bool quiet, JobStop& stop);

}  // namespace skyline::app
