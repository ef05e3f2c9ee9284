#pragma once

#include "skyline/trial/evaluator.hpp"

#include "evaluate/process/report_reader.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace skyline::evaluate {

/// The variable that names the file with the decisions about a trial.
inline constexpr const char* kDecisionVariable = "SKYLINE_DECISION_FILE";

/// Compares a trial of a user's program after declared steps (`search.pruning`), and tells the program, by
/// lines of a file:
///   {"at": [1, 3, 9], "of": ["accuracy"]}   first, the steps after which these metrics are compared
///   {"step": 3, "stop": false}              one for each step of which all of them were reported, ascending
/// A file serves each way in which programs are started, also in containers and below launchers that close
/// descriptors. Used by the thread of the attempt.
class TrialDecisions {
 public:
  /// @param pruning  nullptr if the trial is not compared; the objects must outlive this one
  TrialDecisions(const trial::Trial& trial, trial::TrialPruning* pruning, std::filesystem::path file,
                 ReportReader& reports);

  bool are_made() const { return pruning_ != nullptr; }
  const std::filesystem::path& file() const { return file_; }
  /// Writes the decisions so far. Call it before the program starts. @throws FaultError
  void write() const;
  /// Decides about the steps that were reported since the last call. @throws FaultError
  void decide();
  /// Returns whether a program that ended without an error ended because it was told to: it was, and has
  /// reported no result. Call it at the end.
  bool ended_trial();
  /// Returns what lacks so that the trial was not compared after its first declared step without a decision:
  /// "it reported no step 3", "step 3 has no `accuracy`". Returns an empty text if there is no such step.
  std::string unreported() const;

 private:
  const trial::Trial& trial_;
  trial::TrialPruning* const pruning_;
  const std::filesystem::path file_;
  ReportReader& reports_;
};

}  // namespace skyline::evaluate
