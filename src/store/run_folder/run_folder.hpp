#pragma once

#include "skyline/trial/trial.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// Names inside a run folder (docs/results.md).
struct RunPaths {
  std::filesystem::path root;
  std::filesystem::path config() const { return root / "config.yaml"; }
  std::filesystem::path journal() const { return root / "journal.jsonl"; }
  std::filesystem::path tables() const { return root / "run.h5"; }
  /// Returns weights/17.h5, or weights/17.final.h5. Two names are needed, because children can still inherit
  /// from a search trial after its full training.
  std::filesystem::path weights(trial::TrialName trial) const {
    return weights_folder() / (to_text(trial) + ".h5");
  }
  /// Returns weights/17.final.answers.json.
  std::filesystem::path answers(trial::TrialName trial) const {
    return weights_folder() / (to_text(trial) + ".answers.json");
  }
  std::filesystem::path weights_folder() const { return root / "weights"; }
  std::filesystem::path checkpoints() const { return root / "checkpoints"; }
  std::filesystem::path events() const { return root / "events"; }
  std::filesystem::path exports() const { return root / "exports"; }
  std::filesystem::path courses() const { return root / "courses"; }
  /// Returns the folders below the root.
  std::vector<std::filesystem::path> folders() const {
    return {weights_folder(), root / "logs", checkpoints(), events(), courses()};
  }
  /// Returns the folders that a job writes in.
  std::vector<std::filesystem::path> own_folders() const {
    std::vector<std::filesystem::path> all = folders();
    all.insert(all.end(), {root, trainer(), trials(), trial_logs()});
    return all;
  }
  std::filesystem::path models_json() const { return root / "models.json"; }
  std::filesystem::path pareto_json() const { return root / "pareto.json"; }
  std::filesystem::path search_state_csv() const { return root / "search_state.csv"; }
  /// Returns the latencies that were measured when the run was done.
  std::filesystem::path latency_json() const { return root / "latency.json"; }
  std::filesystem::path report_html() const { return root / "report.html"; }
  std::filesystem::path trace_json() const { return root / "trace.json"; }
  std::filesystem::path status_json() const { return root / "status.json"; }
  std::filesystem::path mlflow_json() const { return root / "mlflow.json"; }
  /// Returns the folder in which users' own trainers work: caches, and a folder for each attempt at a trial.
  std::filesystem::path trainer() const { return root / "trainer"; }
  /// Returns the file with the folder in which they start.
  std::filesystem::path started_in() const { return trainer() / "started_in"; }
  /// Returns the folder that has one for each trial (trial_folder.hpp).
  std::filesystem::path trials() const { return root / "trials"; }
  std::filesystem::path trial_logs() const { return root / "logs" / "trials"; }
  std::filesystem::path log() const { return root / "logs" / "skyline.log"; }
  /// Returns the log of the program that chooses the trials (`search.run`).
  std::filesystem::path tuner_log() const { return root / "logs" / "tuner.log"; }
  /// Returns the log of the program that counts costs, and its answers (`costs.run`).
  std::filesystem::path costs_log() const { return root / "logs" / "costs.log"; }
  std::filesystem::path counted_costs() const { return trainer() / "costs.jsonl"; }
  std::filesystem::path owner() const { return root / "owner.json"; }
};

/// The job that holds a run folder, as owner.json describes it.
struct RunOwner {
  std::string host;
  std::int64_t process = 0;
  double heartbeat_age_s = 0;
  bool active = false;  // false if the job is gone and its claim is stale
};
/// Reads who holds the folder, for `skyline status`; nullopt if nobody does. Writes nothing.
/// @throws UserError if owner.json exists and cannot be read
std::optional<RunOwner> read_owner(const RunPaths& paths);

/// The claim of one running job on a run folder, without file locks: owner.json, made exclusively, has the
/// host, the process id and the process' start time. Its modification time is the heartbeat, which a thread
/// renews every 10 s. A claim is stale, and taken over, if its process is gone (same host) or its heartbeat
/// is older than 60 s (another host).
class RunClaim {
 public:
  /// Claims the folder; makes it and those below it if needed.
  /// @throws UserError if it cannot be written, or another run is active ("...is in use by process 123 on
  ///         host x, heartbeat 2 s ago")
  static std::unique_ptr<RunClaim> acquire(const RunPaths& paths);
  virtual ~RunClaim() = default;  // returns the claim
  /// Checks that the claim still holds, without a look at the folder. Any thread may call it.
  /// @throws UserError if another job took the folder over, or heartbeats have failed for too long
  virtual void check() const = 0;
};

/// Returns the folder of a run that has copies of the results that were known before its search, each file
/// with its checksum as name.
inline std::filesystem::path known_folder(const RunPaths& paths) {
  return paths.root / "known";
}

/// Publishes config.yaml, with a first line that marks it as written by a job: it holds the checksum of the
/// rest, so a file that a person has changed, or written, is not taken for ours. @throws as publish_file
void publish_config(const RunPaths& paths, std::string_view yaml);

/// Checks that a run may begin in a folder without a journal. It must be missing, empty, or contain only logs
/// and the files of a job that ended before its first trial. Nothing else may be overwritten or removed.
/// @param config  the configuration that the user named; empty for the folder's own
/// @param results  paths of the files that follow from a run's journal
/// @throws UserError with the file that is in the way
void check_fresh_folder(const RunPaths& paths, const std::filesystem::path& config,
                        std::span<const std::filesystem::path> results);

}  // namespace skyline::store
