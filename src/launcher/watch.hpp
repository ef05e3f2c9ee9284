#pragma once

#include "core/system/process_tree.hpp"
#include "launcher/kept_log.hpp"
#include "launcher/launch_protocol.hpp"
#include "launcher/options.hpp"
#include "launcher/program_limits.hpp"
#include "launcher/program_start.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace skyline::launcher {

/// Watches over a program until it and all its descendants are gone. This process must be their subreaper,
/// and SIGCHLD and SIGTERM must be blocked.
class Watch {
 public:
  /// @param group    the program's own, which keeps its limits; if there is none, they are kept here
  /// @param signals  descriptor of these two signals
  Watch(const Options& options, const StartedProgram& program, std::optional<ControlGroup> group,
        int signals);
  /// Returns when all are gone. Tells the owner about the start; returns the notice of the end.
  Notice run();

 private:
  using Clock = std::chrono::steady_clock;

  void wait();
  int next_wait_ms() const;
  void read_start();
  void read_output();
  void read_commands();
  void read_signals();
  bool has_limits() const { return group_ || limits_.exist(); }
  void check_limits();
  bool reap();
  std::vector<ListedProcess> tree() const;
  void stop();
  void kill() { kills_ = true; }
  Notice end_of(int status) const;

  StartedProgram program_;
  int control_ = kControlDescriptor;
  int signals_;
  std::uint64_t grace_ms_;
  bool serves_;
  KeptLog log_;
  std::optional<ControlGroup> group_;
  TreeLimits limits_;            // none if there is a group
  std::uint64_t earlier_kills_;  // out_of_memory_kills() at the start
  std::optional<Notice> end_;    // set once the end is certain
  bool kills_ = false;           // all that is left gets SIGKILL
  bool asked_ = false;           // the owner, or a SIGTERM, wants the end
  std::optional<Clock::time_point> kill_at_;
  Clock::time_point check_at_;
  Clock::time_point write_at_;
};

/// Sends a notice to the owner, if it is there.
void send(const Notice& notice);

}  // namespace skyline::launcher
