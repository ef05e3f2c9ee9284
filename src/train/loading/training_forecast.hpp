#pragma once

#include "skyline/store/dataset.hpp"
#include "skyline/trial/evaluator.hpp"

#include "train/options/training_options.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace skyline::train {

/// The part of an evaluator that trains which needs no LibTorch: what trials cost, and who trains them.
class TrainingForecast : public trial::Evaluator {
 public:
  /// @param on_gpus  whether all ranks that train use GPUs
  /// @throws UserError if the options do not suit the data
  TrainingForecast(const TrainingOptions& options, const store::Dataset& dataset,
                   const store::SplitIndices& split, bool on_gpus);

  double predicted_cost(const trial::Trial& trial) const override;
  std::uint32_t members_for(const trial::Trial& trial) const override;
  bool forms_groups() const override { return options_.group.members != 1U; }
  std::string device() const override { return on_gpus_ ? "gpu" : "cpu"; }
  /// @throws InternalError
  trial::Outcome evaluate(const trial::Trial& trial, trial::EvaluationContext& context) override;

 protected:
  TrainingOptions options_of(const trial::Trial& trial) const {
    return with_values(options_, trial.architecture().training());
  }
  /// Returns options for decisions before a trial begins, with a batch of at most the existing samples.
  /// Searched values may contradict each other in a pair that no check has tried; that fails only the trial.
  TrainingOptions forecast_options_of(const trial::Trial& trial) const;

 private:
  std::size_t samples_to_train(const trial::Trial& trial) const;
  double samples_scored(const trial::Trial& trial, const TrainingOptions& options, std::int64_t steps) const;

  TrainingOptions options_;
  bool on_gpus_;
  // Numbers of samples.
  std::size_t train_;
  std::size_t validation_;
  std::size_t scored_;  // part of the validation set, in the search
  std::size_t test_;
};

}  // namespace skyline::train
