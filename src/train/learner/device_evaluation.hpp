#pragma once

#include "train/batches/device_dataset.hpp"
#include "train/batches/training_setup.hpp"
#include "train/learner/captured_work.hpp"
#include "train/learner/training_step.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// A batch of held-out samples.
struct ScoredBatch {
  double loss_sum = 0;
  std::vector<float> outputs;  // [samples, outputs]
};

/// Forward passes of a network on a device in evaluation mode, for scores and for the latency. Local, in
/// groups too. One thread uses it. @pre begun steps have been given to the stream
class DeviceEvaluation {
 public:
  /// All arguments must outlive the object; the stream is current.
  /// @param scored  number of samples of a validation
  DeviceEvaluation(const TrainingSetup& setup, TrainingStep& step, AcceleratorStream& stream,
                   const RecordingPolicy& policy, std::size_t scored);

  /// Returns the samples per forward pass.
  std::int64_t batch() const { return order_.numel(); }

  /// See the functions of these names in Learner.
  ScoredBatch score(SampleSet set, std::span<const std::int64_t> indices);
  void set_latency_batch(std::span<const std::int64_t> indices);
  void run_latency_batch();

 private:
  void evaluate(SampleSet set, const BatchBuffers& batch);
  std::optional<std::int64_t> runs_before_recording(bool wanted) const;

  const TrainingSetup& setup_;
  DeviceDataset& context_;
  TrainingStep& step_;
  AcceleratorStream& stream_;
  const RecordingPolicy policy_;
  BatchBuffers batch_;
  at::Tensor order_;     // int64 [batch]
  at::Tensor position_;  // int64 []: 0
  at::Tensor loss_sum_;  // float64 []
  at::Tensor outputs_;   // float32 [batch, outputs]
  BatchBuffers held_batch_;
  at::Tensor held_logits_;
  CapturedWork full_batch_;  // a full batch of the validation set
  std::unique_ptr<CapturedWork> held_work_;
};

}  // namespace skyline::train
