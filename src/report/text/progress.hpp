#pragma once

#include "report/files/trial_results.hpp"
#include "report/text/status.hpp"
#include "run/run_state.hpp"

#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::report {

/// Returns `search 37/74 trials · 12 in flight · 2 failed · front 9 · best validation_accuracy 0.9812 · 3:05
/// elapsed · ETA 4:10`, without parts that are zero or unknown.
std::string progress_line(const RunStatus& status, const std::vector<trial::Metric>& metrics);

/// Cuts the text to `columns` characters (UTF-8 code points).
std::string cut_to_columns(std::string_view text, std::size_t columns);

/// Returns `trial 17 committed: depth=3 width=16 validation_accuracy=0.9712 flops=1.2M front=yes rank 1 slot
/// 0 4.31 s`; for a failed trial with its kind and reason instead of values. Where parameters would make it
/// longer than some 150 characters, it names what differs from the nearest parent (`as trial 3 but
/// width=32`), or the first parameters.
/// @param state  state after the commit
/// @param host  host that trained it, shown as `rank 1 node07 slot 0`; empty if the run has one node
std::string commit_line(const trial::CommittedTrial& committed, const run::RunState& state,
                        const space::SearchSpace& space, const std::vector<trial::Metric>& metrics,
                        const std::string& host);

/// The clocks and the terminal of Progress. Tests bring their own.
struct ProgressConsole {
  std::function<double()> now_s;                // seconds of a clock that never jumps
  std::function<double()> unix_s;               // seconds since 1970
  std::function<void(std::string_view)> write;  // writes to the terminal at once; empty without a terminal
  std::function<std::size_t()> columns;         // returns the present width of the terminal
};
/// Returns the steady and the system clock, and standard error.
ProgressConsole system_console(bool terminal);

/// Shows progress on a terminal (one line, rewritten, with ETA), as one log line per commit, and as
/// status.json every 2 s for `skyline status`. The ETA is computed from the times of this job's commits and
/// the trials left. Without a terminal, commits and, every 30 s, the progress go to log::info. Only rank 0's
/// main thread uses it.
class Progress final : public run::RunListener {
 public:
  Progress(const store::RunPaths& paths, const space::SearchSpace& space,
           const std::vector<trial::Metric>& metrics, ProgressConsole console);
  ~Progress() override;

  void started(const run::RunState& state) override;
  void phase_begun(const run::RunState& state) override;
  void committed(const run::Commit& commit, const run::RunState& state) override;
  void stopping() override;
  void tick(const run::RunState& state) override;
  /// Ends the line on the terminal and writes the last status, before results are printed. After a failure it
  /// waits for the status, at most 2 s. A run without this call has failed.
  void ended(RunEnd end);

 private:
  bool on_terminal() const { return static_cast<bool>(console_.write); }
  void update(const run::RunState& state);
  void keep_best_test(const trial::CommittedTrial& committed, const objective::ObjectiveSet& objectives);
  void update_times();
  void draw();
  void clear_line();
  std::future<void> end_with(const std::string& state);

  const space::SearchSpace space_;
  const std::vector<trial::Metric> metrics_;
  const ProgressConsole console_;

  RunStatus status_;
  std::map<int, std::string> hosts_;    // hosts of the ranks, if the run has several nodes
  std::optional<BestValue> best_test_;  // best value of the full trainings
  bool under_way_ = false;              // true between start and end
  double start_s_ = 0;
  double phase_start_s_ = 0;   // time of the phase's start, or of the end of its replay
  std::size_t done_here_ = 0;  // commits in this phase by this job
  double last_commit_s_ = 0;
  double last_draw_s_ = 0;
  double last_status_s_ = 0;
  std::string drawn_;  // the line that the terminal shows
  StatusFile status_file_;
};

}  // namespace skyline::report
