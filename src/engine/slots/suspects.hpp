#pragma once

#include "skyline/trial/trial.hpp"

#include "comm/communicator.hpp"
#include "store/run_folder/run_folder.hpp"

#include <map>
#include <set>

namespace skyline::engine {

/// Trials that may have ended earlier jobs of the run: each was running when a job died by a crash signal or
/// by the OOM killer, and no checkpoint of it had advanced since it began.
struct SuspectTrials {
  std::set<trial::TrialName> alone;                   // train alone in this job
  std::map<trial::TrialName, trial::Failure> failed;  // ended two jobs while they trained alone
};

/// Collective, before any rank trains. Rank 0 reads what the last job left, and asks the ranks of each node
/// whether the OOM killer was at work there; nodes that did not come back are not known. The suspects stay
/// in files until a checkpoint of theirs advances, or the run ends.
/// @param resume  else what earlier runs left in the folder is removed
/// @return  on rank 0; elsewhere nothing
SuspectTrials find_suspects(comm::Communicator& world, const store::RunPaths& paths, bool resume);

/// Rank 0, at the end of the run: nobody is a suspect any more.
void forget_suspects(const store::RunPaths& paths, const SuspectTrials& suspects);

}  // namespace skyline::engine
