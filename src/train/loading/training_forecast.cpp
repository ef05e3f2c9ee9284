#include "train/loading/training_forecast.hpp"

#include "skyline/core/error.hpp"

#include "train/options/group_size.hpp"
#include "train/options/training_check.hpp"
#include "trial/refit.hpp"

#include <algorithm>

namespace skyline::train {

TrainingForecast::TrainingForecast(const TrainingOptions& options, const store::Dataset& dataset,
                                   const store::SplitIndices& split, bool on_gpus)
    : on_gpus_(on_gpus),
      train_(split.train.size()),
      validation_(split.validation.size()),
      scored_(split.scored.empty() ? validation_ : split.scored.size()),
      test_(dataset.test().count) {
  require(train_ > 0, "no training samples");
  if (const auto objection = find_objection(options, dataset, split))
    throw UserError("`training." + objection->key + "`: " + objection->reason);
  options_ = adapt_to_data(options, dataset, split);
}

double TrainingForecast::predicted_cost(const trial::Trial& trial) const {
  const space::Network& network = trial.architecture().network();
  const TrainingOptions options = forecast_options_of(trial);
  const auto steps_of = [&](double epochs) {
    return steps_for(epochs, samples_to_train(trial), options.batch);
  };
  const trial::Continue* earlier = trial.continues();
  const std::int64_t steps =
      steps_of(trial.budget().epochs) - (earlier != nullptr ? steps_of(earlier->epochs) : 0);
  // Floating-point operations that take as long as a layer's fixed cost per part of a step, some
  // microseconds. The backward pass costs two forward passes.
  constexpr double kFixedFlops = 5e5;
  const auto samples = static_cast<double>(options.batch);
  const auto flops = static_cast<double>(network.cost.flops);
  const double step = 3 * flops * samples + kFixedFlops * static_cast<double>(network.layers.size()) *
                                                static_cast<double>(options.accumulate);
  return std::max(1.0, static_cast<double>(steps) * step + samples_scored(trial, options, steps) * flops);
}

std::uint32_t TrainingForecast::members_for(const trial::Trial& trial) const {
  const TrainingOptions options = forecast_options_of(trial);
  return choose_members(trial.architecture().network(), {options.batch, options.accumulate}, options_.group,
                        on_gpus_ ? MemberKind::kGpu : MemberKind::kCore);
}

trial::Outcome TrainingForecast::evaluate(const trial::Trial& /*trial*/,
                                          trial::EvaluationContext& /*context*/) {
  throw InternalError("a forecast trains nothing");
}

TrainingOptions TrainingForecast::forecast_options_of(const trial::Trial& trial) const {
  TrainingOptions options = options_;
  try {
    options = options_of(trial);
  } catch (const UserError&) {
  }
  options.batch = std::min(options.batch, static_cast<std::int64_t>(samples_to_train(trial)));
  return options;
}

std::size_t TrainingForecast::samples_to_train(const trial::Trial& trial) const {
  return train_ + (trial::is_refit(trial) ? validation_ : 0);
}

/// Returns the samples of forward passes outside of steps, including those of recalibration.
double TrainingForecast::samples_scored(const trial::Trial& trial, const TrainingOptions& options,
                                        std::int64_t steps) const {
  const std::size_t trained = samples_to_train(trial);
  const bool judged = trial.is_final() && !trial::is_refit(trial) && options.full.judges_epochs();
  const std::int64_t epoch = steps_per_epoch(trained, options.batch);
  const auto scorings = static_cast<double>(judged ? (steps + epoch - 1) / epoch : 1);
  const auto recalibrated =
      static_cast<double>(std::min(options.recalibrate * options.batch, static_cast<std::int64_t>(trained)));
  const auto tested = static_cast<double>(trial.is_final() ? test_ : 0);
  const std::size_t validated = trial::is_refit(trial) ? 0 : trial.is_final() ? validation_ : scored_;
  return scorings * (static_cast<double>(validated) + recalibrated) + tested;
}

}  // namespace skyline::train
