#include "train/device/device_evaluation.hpp"

#include "train/ops/autograd_op.hpp"

#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace skyline::train {
namespace {

/// Wraps indices on the host without a copy.
at::Tensor tensor_of(std::span<const std::int64_t> indices) {
  auto* const values = const_cast<std::int64_t*>(indices.data());  // only read
  return at::from_blob(values, {static_cast<std::int64_t>(indices.size())}, at::kLong);
}

}  // namespace

DeviceEvaluation::DeviceEvaluation(const TrainingSetup& setup, LayerGraph& graph, AcceleratorStream& stream,
                                   const RecordingPolicy& policy)
    : setup_(setup),
      context_(*setup.on_device),
      graph_(graph),
      stream_(stream),
      policy_(policy),
      batch_(BatchBuffers::make(kBatch, setup.dataset->shape(), context_.device())),
      order_(at::zeros({kBatch}, at::TensorOptions(at::kLong).device(context_.device()))),
      position_(at::zeros({}, order_.options())),
      result_(at::zeros({2}, order_.options().dtype(at::kDouble))),
      full_batch_(
          context_, stream, [this] { evaluate(SampleSet::kTrain, batch_); },
          runs_before_recording(static_cast<std::int64_t>(setup.split.validation.size()) / kBatch >=
                                policy.least_batches)) {}

std::optional<std::int64_t> DeviceEvaluation::runs_before_recording(bool wanted) const {
  return wanted && graph_.may_be_recorded() ? std::optional(policy_.runs_before) : std::nullopt;
}

at::Tensor DeviceEvaluation::infer(const at::Tensor& images) {
  const WithoutAutograd no_autograd;
  return graph_.infer(images).flatten(1).to(at::kFloat);
}

/// Scores the batch; part of recorded work.
void DeviceEvaluation::evaluate(SampleSet set, const BatchBuffers& batch) {
  gather_on_device(context_, set, order_, position_, batch);
  const at::Tensor logits = infer(batch.images);
  const at::Tensor loss =
      at::cross_entropy_loss(logits.to(at::kDouble), batch.targets, {}, at::Reduction::Sum);
  const at::Tensor correct = at::argmax(logits, 1).eq(batch.targets).sum();
  result_.copy_(at::stack({loss, correct.to(at::kDouble)}));
}

kernels::BatchScore DeviceEvaluation::score(SampleSet set, std::span<const std::int64_t> indices) {
  const auto rows = static_cast<std::int64_t>(indices.size());
  stream_.run([&] { order_.narrow(0, 0, rows).copy_(tensor_of(indices)); });
  if (rows == kBatch && set == SampleSet::kTrain) {
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
    held_logits_ = infer(held_batch_.images);
  });
  stream_.wait();
  held_work_ = std::make_unique<RepeatedWork>(
      context_, stream_, [this] { held_logits_.copy_(infer(held_batch_.images)); },
      runs_before_recording(true));
}

void DeviceEvaluation::infer_held() {
  held_work_->run();
  stream_.run([this] { held_logits_.cpu(); });
}

}  // namespace skyline::train
