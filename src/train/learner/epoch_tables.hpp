#pragma once

#include "train/batches/device_dataset.hpp"
#include "train/options/training_options.hpp"
#include "train/parameters/optimizer.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// The values that change from step to step of an epoch, in tables on the device. Steps look up their own
/// entries, so every step is the same work and can be recorded. One thread uses it, with its stream current.
class EpochTables {
 public:
  struct Plan {
    std::int64_t steps = 0;        // steps of an epoch
    std::int64_t samples = 0;      // samples of an epoch
    std::int64_t total_steps = 0;  // steps of the trial
    std::uint64_t trial_seed = 0;
    std::vector<std::string> drawing_layers;  // names of the layers that draw
    double average = 0;  // largest weight of the past in a moving average of the weights; 0 for no average
  };
  EpochTables(DeviceDataset& context, const TrainingOptions& options, Plan plan);

  /// Copies the epoch's order and tables. @pre no step of an earlier epoch is unfinished
  void begin(std::uint64_t epoch, std::span<const std::int64_t> order);
  /// Makes `step` the epoch's next step, with its batch at place `first` of the order.
  void seek(std::int64_t step, std::int64_t first);

  // Return rate and seeds of the current step. Recorded work looks them up at each replay.
  at::Tensor rate() const { return is_own_ ? current(rates_) : current_rate_; }  // [], see Optimizer::step
  at::Tensor seeds() const { return current(seeds_); }                           // int64 [drawing layers]
  at::Tensor ema_weight() const {
    return plan_.average > 0 ? current(ema_weights_) : at::Tensor();
  }  // StepValues::ema_weight
  const at::Tensor& order() const { return order_; }
  const at::Tensor& position() const { return position_; }
  const at::Tensor& augment_seed() const { return augment_seed_; }
  /// Ends the step.
  /// @param loss  [], of the rate's type
  void finish_step(const at::Tensor& loss);

  /// Reads the losses of these steps of the epoch; waits for the current stream.
  std::vector<double> losses(std::int64_t first_step, std::int64_t count) const;

 private:
  at::Tensor current(const at::Tensor& table) const;

  Accelerator& accelerator_;
  LearningRate rate_;
  Plan plan_;
  std::int64_t batch_;
  bool is_own_;              // with kernels of our own, steps find their entries on the host
  at::Tensor order_;         // int64 [samples]
  at::Tensor rates_;         // float64 for kernels of our own, else float32: [steps]
  at::Tensor seeds_;         // int64 [steps, drawing layers]
  at::Tensor losses_;        // same type and shape as rates_
  at::Tensor ema_weights_;   // float32 [steps], only with an average
  at::Tensor augment_seed_;  // int64 []
  at::Tensor counters_;      // int64 [2]: step, position
  at::Tensor step_;          // int64 [1], a view
  at::Tensor position_;      // int64 [], a view
  at::Tensor current_rate_;  // [], type of the rates; stays on the device between steps
};

}  // namespace skyline::train
