#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/trial/evaluator.hpp"

#include "core/system/open_file.hpp"
#include "evaluate/command/command_metric.hpp"
#include "evaluate/command/program_place.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace skyline::evaluate {

/// The turns at something of which there are few, such as a board: at most so many are taken at a time, by
/// all ranks and hosts of a run. A turn is a lock on a file of the run's folder (flock), which the system
/// frees when the last process that has the descriptor is gone, however it ended. Any thread may use it.
class MeasurementSemaphore {
 public:
  /// @param name  tells what the turns are for; equal on all ranks
  MeasurementSemaphore(const std::filesystem::path& run, const std::string& name, std::uint32_t count);
  /// Takes a turn until the descriptor is closed, or returns null if none is free. Never waits.
  /// @throws FaultError if the file system gives no locks
  FileDescriptor try_acquire() const;

 private:
  std::filesystem::path first_;  // the other files have numbers after this name
  std::uint32_t count_;
};

/// Checks that a lock that rank 0 has is one for all other ranks. Collective.
/// @throws UserError on all ranks if the file system of the run's folder gives no locks, or each host its own
void check_locks(Ranks& ranks, const std::filesystem::path& run, const std::string& host);

/// The programs of the user that measure metrics of trials after the training, or are asked before it. Slot
/// threads share it.
class MetricCommands {
 public:
  /// @param metrics  those without a program are left out
  /// @param own_metrics  number of the evaluator's metrics without a program, which come first in results
  /// @param section  path of the configuration's section, for messages, e.g. "training"
  MetricCommands(const std::vector<CommandMetric>& metrics, std::size_t own_metrics,
                 const EvaluatorServices& services, std::string section);

  /// Checks that measurements of this job will not disturb each other. Collective.
  /// @throws UserError if the file system of the run's folder does not give the locks that `at_once` needs
  void check_locks(Ranks& ranks) const;
  /// Checks that the programs are on this host. @param path  the variable PATH @throws UserError
  void check_programs(const std::string& path) const;
  /// Returns whether a program is given this placeholder.
  bool uses_placeholder(const std::string& name) const;
  /// Returns whether a trial has such a metric.
  bool measures(const trial::Trial& trial) const;
  using Asking = std::function<trial::Outcome(const ProgramPlace& place)>;
  /// Asks the programs that must be asked before the training and whose answers are not known yet, and keeps
  /// what they say (EarlyValues). A full training takes the answers for the trial that it trains, except of
  /// programs that are told its budget or seed. All members of the trial call it; the first one asks.
  /// @param with_place  calls `ask` in a place for programs, on the first member
  /// @return  nullopt if the trial is to be trained, or else its outcome: the failure of a program, or
  ///          outside, if an answer for a search trial breaks a constraint: a member of the front is not
  ///          refused because of noise
  /// @throws GroupAborted on the other members if a program failed; else as measured()
  std::optional<trial::Outcome> ask(const trial::Trial& trial, trial::EvaluationContext& context,
                                    const std::function<trial::Outcome(const Asking& ask)>& with_place) const;
  /// Returns the outcome of a training with the values of these metrics after its own ones: NaN for each that
  /// was not asked before.
  trial::Outcome unmeasured(trial::Outcome trained, trial::EvaluationContext& context) const;
  /// Returns the outcome of a training with the values of these metrics after its own ones: NaN only where a
  /// search trial does not have a metric, or for all that were not asked if it was pruned. A failure is
  /// returned as it is. Runs the programs one after the other.
  /// @throws GroupAborted if another member of the trial has failed; Problem if a program could not be
  /// started
  trial::Outcome measured(trial::Outcome trained, const trial::Trial& trial,
                          trial::EvaluationContext& context, const ProgramPlace& place) const;

 private:
  using Measured = std::variant<double, trial::Failure>;
  struct Program {
    CommandMetric metric;
    std::optional<MeasurementSemaphore> turns;
  };

  trial::Outcome ask_here(const trial::Trial& trial, trial::EvaluationContext& context,
                          const ProgramPlace& place) const;
  Measured measure(const Program& program, const trial::Trial& trial, trial::EvaluationContext& context,
                   const ProgramPlace& place) const;
  Measured repeated(const Program& program, const trial::Trial& trial, const std::filesystem::path& log,
                    int turn, trial::EvaluationContext& context, const ProgramPlace& place) const;
  Measured run(const Program& program, std::uint32_t number, const std::filesystem::path& log, int turn,
               trial::EvaluationContext& context, const ProgramPlace& place) const;
  bool depends_on_training(const std::string& metric) const;
  std::string broken_bound(const trial::EarlyValues::ByMetric& known) const;
  void show(const std::string& line) const;

  std::vector<Program> programs_;
  std::size_t own_metrics_;
  std::vector<MetricBound> bounds_;
  std::filesystem::path run_folder_;
  std::string host_;
  std::string section_;
  std::function<void(const std::string& line)> watch_;
  std::shared_ptr<LeftOut> left_out_ = std::make_shared<LeftOut>();
};

}  // namespace skyline::evaluate
