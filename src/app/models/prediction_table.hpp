#pragma once

#include "skyline/store/dataset.hpp"
#include "skyline/trial/trial.hpp"

#include "app/prep/made_dataset.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace skyline::app {

/// Writes predictions as CSV: the row of the source, the trial if there are several, the most likely class
/// for classes, each output, and the reason if the source's row gave no sample.
class PredictionTable {
 public:
  /// @param rows  those of the samples; must outlive the table, like `samples`
  PredictionTable(const SourceRows& rows, const store::Dataset& samples, bool names_trials);

  /// Adds the rows of a model. @param outputs  [samples, outputs]
  void add(trial::TrialNumber trial, std::span<const float> outputs);
  const std::string& csv() const { return csv_; }
  std::size_t size() const { return lines_ - 1; }  // without the titles

 private:
  void add_answers(std::span<const float> outputs, std::vector<std::string>& fields) const;
  void add_line(const std::vector<std::string>& fields);

  const SourceRows& rows_;
  const std::vector<std::string>& names_;  // names of the outputs
  store::TargetKind targets_;
  bool names_trials_;
  std::string csv_;
  std::size_t lines_ = 0;
};

}  // namespace skyline::app
