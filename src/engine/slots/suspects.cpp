#include "engine/slots/suspects.hpp"

#include "comm/agreement.hpp"
#include "core/log.hpp"
#include "store/run_folder/running_trials.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace skyline::engine {
namespace {

constexpr std::size_t kMostDeaths = 2;

std::string signal_text(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

/// The files that the last job left about a node.
struct LeftNode {
  bool had_oom_kill = false;
  std::set<trial::TrialName> trials;  // trials that were running
};

/// Completes what rank 0 has read with the present counters of the nodes. Collective.
void ask_nodes(comm::Communicator& world, std::vector<store::LeftTrials>& left,
               const std::filesystem::path& root) {
  std::vector<store::OomCount> counts;
  for (const store::LeftTrials& rank : left) counts.push_back(rank.oom);
  counts = comm::share(world, std::move(counts));
  std::string risen;  // one character for each count
  for (const store::OomCount& count : counts) risen += count.has_risen(root) ? 'y' : 'n';
  for (const std::string& answer : comm::gather(world, risen)) {
    for (std::size_t i = 0; i < left.size(); ++i) left[i].saw_oom_kill |= answer[i] == 'y';
  }
}

std::map<std::string, LeftNode> nodes_of(const std::vector<store::LeftTrials>& left) {
  std::map<std::string, LeftNode> nodes;
  for (const store::LeftTrials& rank : left) {
    LeftNode& node = nodes[rank.oom.place];
    node.had_oom_kill |= rank.saw_oom_kill;
    for (const store::LeftTrials::Row& row : rank.rows) node.trials.insert(row.trial);
  }
  return nodes;
}

/// Adds a death to a suspect; the same death counts once.
void blame(store::Suspect& suspect, const std::string& job, const std::string& cause) {
  const bool is_known =
      std::ranges::find(suspect.deaths, job, &store::Suspect::Death::job) != suspect.deaths.end();
  if (!is_known) suspect.deaths.push_back({job, cause});
}

/// Returns trials of which a checkpoint advanced in the last job, as the rank of member 0 knows.
std::set<trial::TrialName> advanced_trials(const std::vector<store::LeftTrials>& left) {
  std::set<trial::TrialName> advanced;
  for (const store::LeftTrials& rank : left) {
    for (const store::LeftTrials::Row& row : rank.rows) {
      if (row.advanced) advanced.insert(row.trial);
    }
  }
  return advanced;
}

/// Updates the suspects and their files after the last job's death.
void update_suspects(const store::RunPaths& paths, const std::vector<store::LeftTrials>& left,
                     store::Suspects& suspects) {
  const std::map<std::string, LeftNode> nodes = nodes_of(left);
  const std::set<trial::TrialName> advanced = advanced_trials(left);
  for (const trial::TrialName trial : advanced) {
    if (suspects.erase(trial) > 0) store::remove_suspect(paths, trial);
  }
  for (const store::LeftTrials& rank : left) {
    const LeftNode& node = nodes.at(rank.oom.place);
    for (const store::LeftTrials::Row& row : rank.rows) {
      if (advanced.contains(row.trial) || (row.signal == 0 && !node.had_oom_kill)) continue;
      const std::string cause = row.signal == 0 ? std::string(store::kOomKiller) : signal_text(row.signal);
      store::Suspect& suspect = suspects[row.trial];
      if (node.trials.size() == 1) blame(suspect, rank.job, cause);
      store::write_suspect(paths, row.trial, suspect);
      log::warning("trial " + to_text(row.trial) + " was running when the last job died (" + cause + "): " +
                   (suspect.deaths.size() < kMostDeaths ? "it trains alone now" : "it is not trained again"));
    }
  }
}

trial::Failure failure_of(const store::Suspect& suspect) {
  const std::string& cause = suspect.deaths.back().cause;
  const bool out_of_memory = cause == store::kOomKiller;
  return {out_of_memory ? trial::FailureKind::kOutOfMemory : trial::FailureKind::kException,
          "ended " + std::to_string(kMostDeaths) + " jobs while it trained alone, the last by " +
              (out_of_memory ? "the OOM killer" : cause)};
}

}  // namespace

SuspectTrials find_suspects(comm::Communicator& world, const store::RunPaths& paths, bool resume,
                            const std::filesystem::path& root) {
  const bool coordinates = world.rank() == 0;
  store::Suspects suspects;
  std::vector<store::LeftTrials> left;
  if (coordinates) {
    suspects = store::read_suspects(paths);
    left = store::read_running_trials(paths);
  }
  if (resume) ask_nodes(world, left, root);
  if (!coordinates) return {};
  SuspectTrials found;
  if (resume) {
    update_suspects(paths, left, suspects);
    for (const auto& [trial, suspect] : suspects) {
      if (suspect.deaths.size() < kMostDeaths) {
        found.alone.insert(trial);
      } else {
        found.failed.emplace(trial, failure_of(suspect));
      }
    }
  } else {
    for (const auto& [trial, suspect] : suspects) store::remove_suspect(paths, trial);
  }
  store::remove_running_trials(paths);
  return found;
}

void forget_suspects(const store::RunPaths& paths, const SuspectTrials& suspects) {
  for (const trial::TrialName trial : suspects.alone) store::remove_suspect(paths, trial);
  for (const auto& [trial, failure] : suspects.failed) store::remove_suspect(paths, trial);
}

}  // namespace skyline::engine
