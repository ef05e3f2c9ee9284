#pragma once

#include "skyline/trial/trial.hpp"

#include "comm/communicator.hpp"
#include "store/run_folder/run_folder.hpp"

#include <filesystem>
#include <map>
#include <set>

namespace skyline::engine {

/// Trials that may have ended earlier jobs of the run. Each was running when a job died by a crash signal or
/// by the OOM killer, and no checkpoint of it had advanced since it began.
struct SuspectTrials {
  std::set<trial::TrialName> alone;                   // trials that train alone in this job
  std::map<trial::TrialName, trial::Failure> failed;  // trials that ended two jobs while they trained alone
};

/// Finds the suspects. Rank 0 reads the last job's files, and asks the ranks of each node whether the OOM
/// killer has ended a process there; nodes that are not in this job remain unknown. The suspects stay in
/// files until one of their checkpoints advances, or the run ends. Collective, before any rank trains.
/// @param resume  false: remove what earlier runs left in the folder
/// @param root  folder with the system's `proc` and `sys`
/// @return  on rank 0; empty on other ranks
SuspectTrials find_suspects(comm::Communicator& world, const store::RunPaths& paths, bool resume,
                            const std::filesystem::path& root = "/");

/// Ends all suspicions; rank 0 calls it at the end of the run.
void forget_suspects(const store::RunPaths& paths, const SuspectTrials& suspects);

}  // namespace skyline::engine
