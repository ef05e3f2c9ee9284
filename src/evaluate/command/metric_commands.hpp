#pragma once

#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/trial/evaluator.hpp"

#include "evaluate/command/command_metric.hpp"
#include "evaluate/command/early_answers.hpp"
#include "evaluate/command/measurement_semaphore.hpp"
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

/// Returns an outcome whose values are those of programs, with NaN for the evaluator's own metrics before
/// them.
trial::Outcome of_program_metrics(trial::Outcome asked, std::size_t own_metrics);

/// The programs of the user that measure metrics of trials after the training, or are asked before it. Slot
/// threads share it.
class MetricCommands {
 public:
  /// @param metrics  those without a program are left out
  /// @param section  path of the configuration's section, for messages, e.g. "training"
  MetricCommands(const std::vector<CommandMetric>& metrics, const EvaluatorServices& services,
                 std::string section);

  /// Checks that measurements of this job will not disturb each other. Collective.
  /// @throws UserError if the file system of the run's folder does not give the locks that `at_once` needs
  void check_locks(Ranks& ranks) const;
  /// Checks that the programs are on this host. @param path  the variable PATH @throws UserError
  void check_programs(const std::string& path) const;
  /// Returns whether a program is given this placeholder.
  bool uses_placeholder(const std::string& name) const;
  /// Returns whether a trial has such a metric.
  bool measures(const trial::Trial& trial) const;
  /// Returns whether a program is asked before the training.
  bool asks() const;
  /// Asks these programs, unless the run's folder has their answers, and records what they say. A full
  /// training takes the answers for the trial that it trains, except of programs that are told its budget or
  /// seed. Call it on member 0 alone.
  /// @return  the failure of one of them, or the values of these metrics; they are outside if an answer for a
  ///          search trial breaks a constraint: a member of the front is not refused because of noise
  /// @throws as measured()
  trial::Outcome ask(const trial::Trial& trial, trial::EvaluationContext& context,
                     const ProgramPlace& place) const;
  /// Returns the outcome of a training with NaN for each of these metrics.
  trial::Outcome unmeasured(trial::Outcome trained) const;
  /// Returns the outcome of a training with the values of these metrics after its own ones: NaN where a
  /// search trial does not have a metric, and for all if it was pruned. A failure is returned as it is. Runs
  /// the programs one after the other.
  /// @param asked  values that ask() returned; empty if nothing was asked
  /// @throws GroupAborted if another member of the trial has failed; Problem if a program could not be
  /// started
  trial::Outcome measured(trial::Outcome trained, const trial::Trial& trial,
                          trial::EvaluationContext& context, const ProgramPlace& place,
                          const std::vector<double>& asked) const;

 private:
  using Measured = std::variant<double, trial::Failure>;
  struct Program {
    CommandMetric metric;
    std::optional<MeasurementSemaphore> turns;
  };

  Measured measure(const Program& program, const trial::Trial& trial, trial::EvaluationContext& context,
                   const ProgramPlace& place) const;
  Measured repeated(const Program& program, const trial::Trial& trial, const std::filesystem::path& log,
                    int turn, trial::EvaluationContext& context, const ProgramPlace& place) const;
  Measured run(const Program& program, std::uint32_t number, const std::filesystem::path& log, int turn,
               trial::EvaluationContext& context, const ProgramPlace& place) const;
  bool depends_on_training(const std::string& metric) const;
  std::string broken_bound(const EarlyAnswers& answers) const;
  void show(const std::string& line) const;

  std::vector<Program> programs_;
  std::vector<MetricBound> bounds_;
  std::filesystem::path run_folder_;
  std::string host_;
  std::string section_;
  std::function<void(const std::string& line)> watch_;
  std::shared_ptr<LeftOut> left_out_ = std::make_shared<LeftOut>();
};

}  // namespace skyline::evaluate
