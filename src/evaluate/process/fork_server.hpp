#pragma once

#include "evaluate/process/launcher_start.hpp"
#include "evaluate/process/process_plan.hpp"
#include "evaluate/process/user_program.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace skyline::evaluate {

/// A Python process that has imported a function (python/skyline/fork_server.py), and forks a process for
/// each trial, which calls it. A server that has died is replaced; the trials that it has forked go on. Any
/// thread may use it.
class ForkServer {
 public:
  using Stop = std::function<bool()>;

  struct Limits {
    std::optional<std::uint64_t> trials = {};  // forked before a new server takes the place; no value: any
    std::optional<double> import_s = {};       // how long an import may take; no value: any time
    double patience_s = 0;                     // how long the import of a later server may fail
  };

  /// @param plan  of the server. Its log is that of the newest server.
  /// @param name  what it imports, for messages
  ForkServer(ProcessPlan plan, std::string name, const Limits& limits);

  /// Starts the first server, and waits until it can fork, or a stop is asked for.
  /// @throws UserError if the import fails, takes too long, or leaves what a fork would lose
  void start(const Stop& stop_requested);

  /// Forks a trial: a launcher and its program, which calls the function. A plan's arguments are those of
  /// `python3 -m skyline.run_trial`. If the server dies meanwhile, or a stop is asked for while a new one
  /// starts, the launcher's socket ends as if the launcher had failed.
  /// @throws FaultError if the system refuses, servers die one after the other, or cannot import for as long
  /// as the patience lasts; else as plan_launcher
  StartedLauncher fork(const ProcessPlan& plan, const std::string& mark, const Stop& stop_requested);

 private:
  void import(const Stop& stop_requested);
  void replace_dead(const Stop& stop_requested);
  bool send(const LauncherPlan& planned);
  void note_death(const std::string& how);
  std::string import_problem() const;

  ProcessPlan plan_;
  const std::string name_;
  const Limits limits_;
  std::mutex mutex_;                      // guards the rest
  std::unique_ptr<UserProgram> process_;  // nullptr if none can fork
  std::uint64_t trials_ = 0;              // number of trials that this server has forked
  int deaths_ = 0;                        // times that servers died since the last forked trial
};

}  // namespace skyline::evaluate
