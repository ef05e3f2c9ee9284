#pragma once

#include "store/publish/storage_thread.hpp"
#include "store/run_folder/run_folder.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

namespace skyline::report {

/// A metric and its best value so far.
struct BestValue {
  std::string metric;
  double value = 0;
  bool operator==(const BestValue&) const = default;
};

/// The end of a job.
struct JobEnding {
  std::string job = {};  // number in the batch system, "812", or "812_3" in an array; empty if there is none
  int restart = 0;       // number of that job's restarts
  int exit_code = 0;
  bool out_of_time = false;  // it stopped early because its time was up, not on a signal
  bool progress = true;      // false if it stopped before it had committed a trial or saved anything of one
  bool operator==(const JobEnding&) const = default;
};

/// The status of a run: the contents of the progress line and of status.json (docs/results.md).
struct RunStatus {
  std::string state = "running";  // running | stopping | stopped | finished | failed
  std::string phase = "search";
  std::size_t done = 0;       // committed trials of this phase, including replayed ones
  std::size_t expected = 0;   // upper bound of this phase's trials
  std::size_t committed = 0;  // trials of all phases
  std::size_t in_flight = 0;
  std::size_t waiting = 0;  // trials in flight that have a result, which waits for those before it
  bool choosing = false;    // no trial is under way: the search is thinking about the next one
  std::size_t failed = 0;   // trials of all phases that failed
  std::size_t pruned = 0;   // trials that ended early (`search.pruning`); in the file only if there are some
  std::size_t outside = 0;  // trials that were not trained because of a constraint; likewise
  std::size_t front = 0;
  std::vector<BestValue> best;  // best value per objective, in order; in the final phase a test value first
  std::size_t replayed = 0;     // trials committed by earlier jobs
  std::size_t slots = 0;
  std::size_t ranks = 0;
  std::size_t nodes = 0;
  double elapsed_s = 0;             // seconds of this job so far
  std::optional<double> eta_s;      // seconds left of this phase
  double updated = 0;               // seconds since 1970
  std::optional<JobEnding> ending;  // end of the last job; nullopt if it runs or was killed
  std::vector<std::string> recent;  // the last commits, oldest first
  std::string search_summary;       // last message of the search about itself; may be empty

  /// Returns e.g. "42 in flight, 5 of them done", or "choosing the next trial"; an empty text without any.
  std::string in_flight_text() const;
  std::string to_json() const;
  /// Parses status.json. @throws UserError with `file` if the text is not a status
  static RunStatus parse(const std::string& text, const std::string& file);
  bool operator==(const RunStatus&) const = default;
};

/// Reads the status of a run; nullopt if no job has written one, or it cannot be read, which the log says.
std::optional<RunStatus> read_status(const store::RunPaths& paths);

/// Publishes status.json on another thread, so that a slow file system never holds up the run. A status that
/// is offered while the last one is still being written is dropped.
class StatusFile {
 public:
  explicit StatusFile(std::filesystem::path path);
  /// Returns false if the status was dropped. The first failure is logged as a warning.
  bool offer(const RunStatus& status);
  /// Publishes the status after those before it. The future is ready when it is written, or cannot be.
  std::future<void> publish(const RunStatus& status);

 private:
  std::filesystem::path path_;
  std::atomic<bool> busy_ = false;
  bool warned_ = false;          // used by the storage thread only
  store::StorageThread thread_;  // the last member, because its jobs use the others
};

/// Writes into status.json how a job ended, for scripts: the last act of a job that has the run folder. It
/// waits for a silent file system no longer than `patience`; a failure is logged as a warning.
/// @param may_write  asked before, on the thread that writes; empty for yes
void publish_end(const store::RunPaths& paths, const JobEnding& ending,
                 std::chrono::milliseconds patience = std::chrono::seconds(10),
                 std::function<bool()> may_write = {});

/// Returns the output of `skyline status RUN`, using only status.json, the claim, the journal and the slots'
/// tables, so it works while the run continues.
/// @param columns  at which the lines of the last commits are cut
/// @throws UserError if RUN is no run folder
std::string status_text(const store::RunPaths& paths, std::size_t columns = std::string::npos);
/// Returns the state as one line of JSON: the members of status.json, and `run`, `running`, `host`,
/// `process`, `journal` (its trials), `training` (what each slot trains) and `front_trials`. @param front
/// text of front_json
std::string status_json(const store::RunPaths& paths, const std::string& front);
/// Returns the progress in one line, with the trials that are being trained.
std::string status_line(const store::RunPaths& paths);
/// Returns the exit code of the last job, or nullopt if it was killed or is running.
std::optional<int> last_exit_code(const store::RunPaths& paths);

}  // namespace skyline::report
