#include "train/device/device_evaluation.hpp"

#include "train/course/loss.hpp"
#include "train/ops/autograd_op.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace skyline::train {
namespace {

/// Samples per forward pass: enough to fill a device, or to hide the fixed cost of a pass on the CPU and few
/// enough for its caches. Part of the definition of a result: another number could change its last bits.
std::int64_t batch_of(const DeviceContext& context) {
  return context.accelerator().kernels() == Kernels::kOwn ? 64 : 256;
}

/// Wraps indices on the host without a copy.
at::Tensor tensor_of(std::span<const std::int64_t> indices) {
  auto* const values = const_cast<std::int64_t*>(indices.data());  // only read
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
      batch_(BatchBuffers::make(batch_of(context_), setup.dataset->shape(), context_.device())),
      order_(at::zeros_like(batch_.targets)),
      position_(at::zeros({}, order_.options())),
      result_(at::zeros({2}, order_.options().dtype(at::kDouble))),
      full_batch_(
          context_, stream, [this] { evaluate(validation_set(setup_.split), batch_); },
          runs_before_recording(static_cast<std::int64_t>(scored) / batch() >= policy.least_batches)) {}

std::optional<std::int64_t> DeviceEvaluation::runs_before_recording(bool wanted) const {
  return wanted && step_.may_be_recorded() ? std::optional(policy_.runs_before) : std::nullopt;
}

/// Scores the batch; part of recorded work.
void DeviceEvaluation::evaluate(SampleSet set, const BatchBuffers& batch) {
  const WithoutAutograd no_autograd;
  // Recorded steps change the parameters unseen, and recorded validation prepares in scratch memory.
  const bool is_recorded = step_.may_be_recorded();
  if (is_recorded) step_.parameters_changed();
  gather_on_device(context_, set, order_, position_, batch);
  score_logits(step_.infer(batch.images), batch.targets, context_.accelerator().kernels(), result_);
  if (is_recorded) step_.parameters_changed();
}

kernels::BatchScore DeviceEvaluation::score(SampleSet set, std::span<const std::int64_t> indices) {
  const auto rows = static_cast<std::int64_t>(indices.size());
  stream_.run([&] { order_.narrow(0, 0, rows).copy_(tensor_of(indices)); });
  if (rows == batch() && set == validation_set(setup_.split)) {
    full_batch_.run();
  } else {
    stream_.run([&] { evaluate(set, batch_.first(rows)); });
  }
  kernels::BatchScore score;
  stream_.run([&] {
    const at::Tensor result = result_.cpu();
    score.loss_sum = result.const_data_ptr<double>()[0];
    score.correct = static_cast<std::int64_t>(result.const_data_ptr<double>()[1]);
  });
  return score;
}

void DeviceEvaluation::hold(std::span<const std::int64_t> indices) {
  stream_.run([&] {
    const at::Tensor order = tensor_of(indices).to(context_.device());
    held_batch_ = BatchBuffers::make(static_cast<std::int64_t>(indices.size()), setup_.dataset->shape(),
                                     context_.device());
    gather_on_device(context_, SampleSet::kTrain, order, position_, held_batch_);
    step_.parameters_changed();
    held_logits_ = step_.infer(held_batch_.images);
  });
  stream_.wait();
  held_work_ = std::make_unique<RepeatedWork>(
      context_, stream_, [this] { held_logits_.copy_(step_.infer(held_batch_.images)); },
      runs_before_recording(true));
}

void DeviceEvaluation::infer_held() {
  held_work_->run();
  stream_.run([this] { held_logits_.cpu(); });
}

}  // namespace skyline::train
