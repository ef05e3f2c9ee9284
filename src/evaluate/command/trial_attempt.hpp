#pragma once

#include "skyline/trial/evaluator.hpp"

#include "evaluate/command/command_options.hpp"
#include "evaluate/command/metric_commands.hpp"
#include "evaluate/command/process_group.hpp"
#include "evaluate/command/program_place.hpp"
#include "evaluate/command/trial_decisions.hpp"
#include "evaluate/process/fork_server.hpp"
#include "evaluate/process/host_resources.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::evaluate {

/// The end of the reason of a failure for which somebody else has taken the trial's port.
constexpr std::string_view kPortInUse = ", its port is in use";

/// What a rank has for all its trials. Slot threads share it.
struct TrainerHost {
  CommandOptions options;
  std::vector<trial::Metric> metrics;  // metrics that the trainer reports
  MetricCommands measuring;            // metrics that other programs measure
  EvaluatorServices services;
  Variables variables;            // variables of the search that trainers get
  std::filesystem::path program;  // program of `run`; empty if parameters choose it
  ProcessorShares processors;
  PortBlock ports;
  store::TrialLogs logs;
  std::unique_ptr<store::AttemptFolder> server_folder = {};  // contains the server's TMPDIR
  std::unique_ptr<ForkServer> server = {};                   // forks trials; nullptr if each is started
  StoragePatience storage = {};
  std::atomic<bool> told_of_others = false;  // whether the log says that lines of other processes are dropped
  LeftOut left_out = {};                     // names that reports had in vain
};

/// Returns the variables of a trainer without those of a group.
/// @param devices  GPUs of the trial; empty if it has none
Variables trainer_variables(const TrainerHost& host, const std::filesystem::path& temporary,
                            const std::vector<std::string>& devices);

/// One attempt at a trial by one member: its process, from the start to the end. Used by one thread.
class TrialAttempt {
 public:
  /// The objects must outlive this one.
  TrialAttempt(TrainerHost& host, const trial::Trial& trial, trial::EvaluationContext& context);
  /// Runs the attempt to its end. All that it has started is then gone.
  /// @throws GroupAborted if another member has failed; Problem if the process could not be started
  /// A failure by the host's storage is a kStorage.
  trial::Outcome run();
  /// Call it after run().
  WrittenPlaces written_places() const;

 private:
  using Start = std::optional<trial::TrialWait>;  // time until the process runs, which is not the trial's

  bool leads() const { return place_.rank == 0; }
  bool share_folder();
  std::optional<trial::Failure> excess_of_folder();
  bool starts_process() const;
  Rendezvous exchange_rendezvous() const;
  Variables variables(const std::vector<std::string>& devices) const;
  ProcessPlan plan() const;
  ProgramPlace place(const std::vector<int>& processors) const;
  std::optional<trial::Outcome> prepare(Start& start);
  ProcessEnd run(const ProcessPlan& plan, Start& start);
  std::optional<trial::Outcome> ask(const std::vector<int>& processors);
  LauncherStart launcher_start();
  std::vector<std::string> arguments(const Variables& values) const;
  std::vector<std::string> nested_mpirun(const std::vector<std::string>& arguments) const;
  Variables placeholders() const;
  void show(const ProcessPlan& plan) const;
  bool must_end();
  void take_points();
  trial::Outcome judge(const ProcessEnd& end, const ProgramPlace& place);
  trial::Failure failure_of(const ProcessEnd& end, const ProgramPlace& place) const;
  void keep_log(const trial::Outcome& outcome);
  void warn_of_unreported(const trial::Outcome& outcome) const;

  TrainerHost& host_;
  const trial::Trial& trial_;
  trial::EvaluationContext& context_;
  trial::TrialGroup* const group_;    // nullptr if the trial has one member
  std::vector<ProcessPlace> places_;  // places of all members
  ProcessPlace place_;                // place of this member
  store::AttemptFolder folder_;
  trial::TrialFolder files_;  // folder of all attempts, the same for all members
  // Time at which the size of these files is checked again.
  std::chrono::steady_clock::time_point next_look_ = {};
  std::optional<TakenPort> port_;
  Rendezvous rendezvous_;
  std::int64_t last_step_of_curve_ = 0;
  ReportReader reports_;
  TrialDecisions decisions_;
  std::filesystem::path log_;
  std::optional<trial::Failure> ended_by_;  // why this member has ended its process itself
  bool others_failed_ = false;              // whether that is a failure of another member
};

}  // namespace skyline::evaluate
