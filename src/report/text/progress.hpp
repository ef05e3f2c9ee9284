#pragma once

#include "engine/loop/run.hpp"
#include "report/report.hpp"
#include "report/text/run_status.hpp"
#include "search/pareto/pareto.hpp"
#include "store/publish/storage_thread.hpp"

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::report {

/// The clocks and the terminal as the progress sees them, so that tests bring their own.
struct ProgressConsole {
  std::function<double()> now_s;                // of a clock that never jumps
  std::function<double()> unix_s;               // seconds since 1970
  std::function<void(std::string_view)> write;  // to the terminal at once; empty: there is no terminal
  std::function<std::size_t()> columns;         // of the terminal, now
};
/// Steady and system clock; standard error.
ProgressConsole system_console(bool terminal);

/// Publishes status.json away from the caller's thread: a slow file system never holds up the run. A status
/// that comes while the last one is still being written is passed over.
class StatusFile {
 public:
  explicit StatusFile(std::filesystem::path path);
  /// False if it was passed over. A failure is a warning, once.
  bool offer(const RunStatus& status);
  /// Waits for its turn. What is returned is ready when the status is written, or cannot be.
  std::future<void> publish(const RunStatus& status);

 private:
  std::filesystem::path path_;
  std::atomic<bool> busy_ = false;
  bool warned_ = false;          // the storage thread's
  store::StorageThread thread_;  // last: ends before what its jobs use
};

/// Progress on a terminal or in the log, and status.json. Used by rank 0's main thread alone.
class Progress final : public RunProgress {
 public:
  Progress(const store::RunPaths& paths, const objective::ObjectiveSet& objectives,
           const space::SearchSpace& space, const std::vector<std::string>& metrics,
           std::span<const trial::CommittedTrial> replayed, ProgressConsole console);
  ~Progress() override;

  void started(const std::vector<engine::SlotAccount>& slots, std::size_t replayed,
               std::size_t expected) override;
  void committed(const trial::CommittedTrial& committed, bool on_front, std::size_t in_flight) override;
  void phase_changed(trial::Phase phase, std::size_t expected) override;
  void stopping() override;
  void tick() override;
  void ended(RunEnd end) override;

 private:
  bool on_terminal() const { return static_cast<bool>(console_.write); }
  void count(const trial::CommittedTrial& committed);
  void keep_best(const trial::CommittedTrial& committed);
  void begin_phase();
  void update_times();
  void draw();
  void clear_line();
  std::future<void> end_with(const std::string& state);

  const objective::ObjectiveSet objectives_;
  const space::SearchSpace space_;
  const std::vector<std::string> metrics_;
  const std::span<const trial::CommittedTrial> replayed_;
  const ProgressConsole console_;

  RunStatus status_;
  std::map<int, std::string> hosts_;  // of ranks, if the run has several nodes
  search::ParetoArchive front_;
  bool under_way_ = false;  // started and not ended
  double start_s_ = 0;
  double phase_start_s_ = 0;
  std::size_t done_here_ = 0;   // of this phase, by this job
  std::size_t final_done_ = 0;  // full trainings since the last search trial
  double last_commit_s_ = 0;
  double last_draw_s_ = 0;
  double last_status_s_ = 0;
  std::string drawn_;  // the line that stands on the terminal
  StatusFile status_file_;
};

}  // namespace skyline::report
