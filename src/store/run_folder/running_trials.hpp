#pragma once

#include "skyline/trial/trial.hpp"

#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/run_folder.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// The number of processes that the system's OOM killer had ended, as a counter of the system showed at some
/// time.
struct OomCount {
  std::string place;  // process_place() of the counter's reader
  std::string file;   // file of the counter, with a line "oom_kill 3"; empty if there is none
  std::uint64_t kills = 0;
  /// Returns whether this process is in the same place, and the counter is higher now.
  /// @param root  folder with the system's `proc` and `sys`
  bool has_risen(const std::filesystem::path& root = "/") const;
};
template <typename Visitor>
void for_each_field(OomCount& count, Visitor&& visit) {
  visit(count.place, count.file, count.kills);
}

bool is_running_table(const std::filesystem::path& path);

/// The trials that a rank's slots train at the moment, in checkpoints/running.RANK (docs/internals/files.md).
/// `skyline status` reads it, and, if the job dies, the next job. Small writes into lines of fixed length,
/// without a sync: they outlive the process, but not its node. A write that fails is ignored; the trial is
/// then not suspected.
class RunningTrials {
 public:
  /// @param job        a random text that identifies the job, the same on all its ranks
  /// @param oom_kills  file of the system's counter (machine::oom_kills_file)
  RunningTrials(const RunPaths& paths, int rank, std::size_t slots, const std::string& job,
                const std::filesystem::path& oom_kills);

  /// Notes that the calling thread, which is the slot's, begins a trial.
  /// @param text  describes it to people; cut to some 100 bytes
  void begins(std::size_t slot, trial::TrialName trial, const std::string& text = "");
  /// Notes the last values that the trial of the slot has reported.
  void reports(std::size_t slot, const std::string& text);
  void ends(std::size_t slot);
  /// Notes that a checkpoint of a running trial is ahead of where the trial began. Any thread may call it.
  /// Returns whether it is the first one.
  bool advances(trial::TrialName trial);
  /// Notes that the trial of the slot takes longer than it may, and does not stop. Does nothing if it has
  /// ended.
  void is_overdue(std::size_t slot, trial::TrialName trial);
  /// Notes that the job must stop, perhaps because another process of it has died. Except for checkpoints the
  /// lines stay as they are. Touches no file and never waits. Returns whether it is the first call.
  bool stops() noexcept { return !stopping_.exchange(true); }
  /// Writes the system's counter at the stop, because it may be gone when the next job looks.
  void count_last();
  /// Notes a crash in the line of the calling slot. If the thread belongs to no slot and is not the main
  /// thread, which trains nothing, notes it in all lines. Async-signal-safe.
  void crashed(int signal) const noexcept;
  /// Ignores crashes from now on, because the job ends for another reason.
  void close() noexcept { open_ = false; }
  /// Removes the file at an orderly end of the job.
  void remove();

 private:
  struct Row {
    std::optional<trial::TrialName> trial = {};
    bool advanced = false;
    bool overdue = false;
    double begun = 0;  // seconds since 1970
    std::string text = {};
    std::string reported = {};
  };
  void write(std::size_t slot) const;
  /// If the OOM killer ended some process and the job survived, later trials must not be blamed for it.
  void count_again();

  const PinnedFolders pinned_;
  const std::filesystem::path path_;
  OomCount oom_;
  std::size_t oom_place_ = 0;   // place in the file of the count at the stop; the first count is before it
  std::size_t rows_place_ = 0;  // place of the rows in the file
  FileDescriptor file_;         // null if it could not be made
  std::atomic<bool> open_ = false;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;  // guards the members below
  std::vector<Row> rows_;
};

/// The file that a rank of an earlier job left.
struct LeftTrials {
  struct Row {
    std::size_t slot = 0;
    trial::TrialName trial;
    bool advanced = false;  // a checkpoint has advanced
    bool overdue = false;   // it takes longer than it may, and does not stop
    int signal = 0;         // signal of a crash
    double begun = 0;       // seconds since 1970
    std::string text = {};  // its reports and description, for people; may be cut
  };
  int rank = 0;
  std::string job;
  OomCount oom;               // count when the rank last began a trial
  bool saw_oom_kill = false;  // whether the count has risen while the job ran
  std::vector<Row> rows;      // rows of the slots that trained
};

/// Reads the files that the ranks of the last job left, or of this job, by rank. One that cannot be read is
/// skipped with a warning.
std::vector<LeftTrials> read_running_trials(const RunPaths& paths);
/// Removes the files of all ranks.
void remove_running_trials(const RunPaths& paths);

/// The deaths of jobs while a suspect trained alone on its node.
struct Suspect {
  struct Death {
    std::string job;    // random text that identifies the job
    std::string cause;  // "SIGSEGV", or kOomKiller
  };
  std::vector<Death> deaths;  // empty until it was alone
};
inline constexpr std::string_view kOomKiller = "OOM";

/// Trials that may have ended a job, each in a file checkpoints/K.suspect.
using Suspects = std::map<trial::TrialName, Suspect>;

/// Reads all suspects. @throws UserError if the folder cannot be read
Suspects read_suspects(const RunPaths& paths);
/// Publishes the file of a suspect. @throws UserError
void write_suspect(const RunPaths& paths, trial::TrialName trial, const Suspect& suspect);
/// Removes the suspect's file, if there is one. @throws UserError
void remove_suspect(const RunPaths& paths, trial::TrialName trial);

/// Reads a text of to_text; nullopt for any other text.
std::optional<trial::TrialName> parse_trial_name(std::string_view text);

}  // namespace skyline::store
