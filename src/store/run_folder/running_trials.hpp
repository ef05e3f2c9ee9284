#pragma once

#include "skyline/trial/trial.hpp"

#include "store/publish/file_descriptor.hpp"
#include "store/run_folder/run_folder.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace skyline::store {

/// How many processes the system's OOM killer has ended, as a counter of the system said at some time.
struct OomCount {
  std::string place;  // process_place() of the counter's reader
  std::string file;   // of the counter, with a line "oom_kill 3"; empty: there is none
  std::uint64_t kills = 0;
  /// Whether this process is in the same place, and the counter stands higher now.
  bool has_risen() const;
};
template <typename Visitor>
void for_each_field(OomCount& count, Visitor&& visit) {
  visit(count.place, count.file, count.kills);
}

/// Whether a file has the name of a RunningTrials.
bool is_running_table(const std::filesystem::path& path);

/// The trials that a rank's slots train at the moment, in checkpoints/running.RANK (docs/internals/files.md):
/// what a job tells `skyline status`, and, if it dies, the next one. Small writes into lines of fixed length,
/// which no sync follows: they outlive the process, though not its node. A write that fails is ignored; the
/// trial is then not suspected.
class RunningTrials {
 public:
  /// @param job        a token of the job, the same on all its ranks
  /// @param oom_kills  the system's counter (machine::oom_kills_file)
  RunningTrials(const RunPaths& paths, int rank, std::size_t slots, const std::string& job,
                const std::filesystem::path& oom_kills);

  /// The calling thread is that of the slot, and begins a trial.
  /// @param text  describes it to people; cut to some 100 bytes
  void begins(std::size_t slot, trial::TrialName trial, const std::string& text = "");
  void ends(std::size_t slot);
  /// A checkpoint of a running trial is ahead of where the trial began. Any thread. Returns whether it is the
  /// first one.
  bool advances(trial::TrialName trial);
  /// The trial of the slot takes longer than it may, and does not stop. Nothing happens if it has ended.
  void is_overdue(std::size_t slot, trial::TrialName trial);
  /// The job is told to stop, perhaps because another process of it has died: the lines stay as they are, but
  /// for checkpoints. Touches no file and waits for nobody. Returns whether it is the first call.
  bool stops() noexcept { return !stopping_.exchange(true); }
  /// Notes the system's counter at the stop, which may be gone when the next job looks.
  void count_last();
  /// Notes a crash in the line of the calling slot; in all lines if the thread is that of no slot and not the
  /// main one, which trains nothing. Async-signal-safe.
  void crashed(int signal) const noexcept;
  /// From now on a crash is not noted: the job ends for another reason.
  void close() noexcept { open_ = false; }
  /// The job ends in an orderly way.
  void remove();

 private:
  struct Row {
    std::optional<trial::TrialName> trial = {};
    bool advanced = false;
    bool overdue = false;
    double begun = 0;  // seconds since 1970
    std::string text = {};
  };
  void write(std::size_t slot) const;
  /// A process that the OOM killer has ended while this job lives on does not speak against a later trial.
  void count_again();

  const std::filesystem::path path_;
  OomCount oom_;
  std::size_t oom_place_ = 0;   // in the file, of the count at the stop; the first count is in front of it
  std::size_t rows_place_ = 0;  // in the file
  FileDescriptor file_;         // null: it could not be made
  std::atomic<bool> open_ = false;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;  // of all below
  std::vector<Row> rows_;
};

/// What a rank of an earlier job left behind.
struct LeftTrials {
  struct Row {
    std::size_t slot = 0;
    trial::TrialName trial;
    bool advanced = false;  // its checkpoint
    bool overdue = false;   // it takes longer than it may, and does not stop
    int signal = 0;         // of a crash
    double begun = 0;       // seconds since 1970
    std::string text = {};  // describes the trial to people; may be cut
  };
  int rank = 0;
  std::string job;
  OomCount oom;               // when the rank last began a trial
  bool saw_oom_kill = false;  // while the job ran
  std::vector<Row> rows;      // of the slots that trained
};

/// Reads what the ranks of the last job left, or have now, by rank; one that cannot be read is skipped with a
/// warning.
std::vector<LeftTrials> read_running_trials(const RunPaths& paths);
/// Removes the files of all ranks.
void remove_running_trials(const RunPaths& paths);

}  // namespace skyline::store
