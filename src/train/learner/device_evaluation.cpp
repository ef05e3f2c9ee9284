#include "train/learner/device_evaluation.hpp"

#include "train/graph/layer_graph.hpp"
#include "train/learner/loss.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

namespace skyline::train {
namespace {

/// Returns the samples per forward pass: enough to fill a device, or on the CPU to hide the fixed cost of a
/// pass, but few enough for its caches. It is a part of the definition of a result, because another number
/// could change its last bits.
std::int64_t batch_of(const DeviceDataset& context) {
  return context.accelerator().kernels() == Kernels::kOwn ? 64 : 256;
}

/// Wraps indices on the host without a copy.
at::Tensor tensor_of(std::span<const std::int64_t> indices) {
  auto* const values = const_cast<std::int64_t*>(indices.data());  // the tensor only reads them
  return at::from_blob(values, {static_cast<std::int64_t>(indices.size())}, at::kLong);
}

}  // namespace

DeviceEvaluation::DeviceEvaluation(const TrainingSetup& setup, TrainingStep& step, AcceleratorStream& stream,
                                   const RecordingPolicy& policy, std::size_t scored)
    : setup_(setup),
      context_(*setup.on_device),
      step_(step),
      stream_(stream),
      policy_(policy),
      batch_(BatchBuffers::make(batch_of(context_), setup)),
      order_(at::zeros({batch_.images.size(0)}, batch_.images.options().dtype(at::kLong))),
      position_(at::zeros({}, order_.options())),
      loss_sum_(at::zeros({}, order_.options().dtype(at::kDouble))),
      outputs_(at::zeros({batch(), static_cast<std::int64_t>(setup.options.problem.outputs)},
                         order_.options().dtype(at::kFloat))),
      full_batch_(
          context_, stream, [this] { evaluate(validation_set(setup_.split), batch_); },
          runs_before_recording(static_cast<std::int64_t>(scored) / batch() >= policy.least_batches)) {}

std::optional<std::int64_t> DeviceEvaluation::runs_before_recording(bool wanted) const {
  return wanted && step_.may_be_recorded() ? std::optional(policy_.runs_before) : std::nullopt;
}

/// Scores the batch; part of recorded work.
void DeviceEvaluation::evaluate(SampleSet set, const BatchBuffers& batch) {
  const WithoutAutograd no_autograd;
  // Recorded steps change the parameters unnoticed, and recorded validation prepares in scratch memory.
  const bool is_recorded = step_.may_be_recorded();
  if (is_recorded) step_.parameters_changed();
  gather_on_device(context_, set, order_, position_, batch);
  const at::Tensor outputs = step_.infer(batch.images);
  outputs_.narrow(0, 0, outputs.size(0)).copy_(outputs);
  score_loss(step_.loss(), outputs, batch.targets, context_.accelerator().kernels(), loss_sum_);
  if (is_recorded) step_.parameters_changed();
}

ScoredBatch DeviceEvaluation::score(SampleSet set, std::span<const std::int64_t> indices) {
  const auto rows = static_cast<std::int64_t>(indices.size());
  stream_.run([&] { order_.narrow(0, 0, rows).copy_(tensor_of(indices)); });
  if (rows == batch() && set == validation_set(setup_.split)) {
    full_batch_.run();
  } else {
    stream_.run([&] { evaluate(set, batch_.first(rows)); });
  }
  ScoredBatch scored;
  stream_.run([&] {
    scored.loss_sum = *loss_sum_.cpu().const_data_ptr<double>();
    const at::Tensor outputs = outputs_.narrow(0, 0, rows).cpu();
    const auto* values = outputs.const_data_ptr<float>();
    scored.outputs.assign(values, values + outputs.numel());
  });
  return scored;
}

void DeviceEvaluation::set_latency_batch(std::span<const std::int64_t> indices) {
  stream_.run([&] {
    const at::Tensor order = tensor_of(indices).to(context_.device());
    held_batch_ = BatchBuffers::make(static_cast<std::int64_t>(indices.size()), setup_);
    gather_on_device(context_, SampleSet::kTrain, order, position_, held_batch_);
    step_.parameters_changed();
    held_logits_ = step_.infer(held_batch_.images);
  });
  stream_.wait();
  held_work_ = std::make_unique<CapturedWork>(
      context_, stream_, [this] { held_logits_.copy_(step_.infer(held_batch_.images)); },
      runs_before_recording(true));
}

void DeviceEvaluation::run_latency_batch() {
  held_work_->run();
  stream_.run([this] { held_logits_.cpu(); });
}

}  // namespace skyline::train
