#include "train/quantized/int8_scoring.hpp"

#include "train/batches/device_dataset.hpp"
#include "train/quantized/quantize.hpp"

#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

namespace skyline::train {
namespace {

/// Returns normalized samples, [samples, channels, height, width].
/// @param host  a setup on the CPU
at::Tensor normalized_samples(const TrainingSetup& host, SampleSet set,
                              std::span<const std::int64_t> indices) {
  auto* const values = const_cast<std::int64_t*>(indices.data());  // the tensor only reads them
  const auto count = static_cast<std::int64_t>(indices.size());
  const BatchBuffers batch = BatchBuffers::make(count, host);
  gather_on_device(*host.on_device, set, at::from_blob(values, {count}, at::kLong), at::zeros({}, at::kLong),
                   batch);
  return batch.images;
}

}  // namespace

space::Int8Network quantize(const TrainingSetup& setup, const space::Network& network,
                            const std::vector<trial::NamedTensor>& tensors) {
  const at::Tensor samples = normalized_samples(on_host(setup), SampleSet::kTrain, setup.calibration);
  return quantize(network, tensors, samples, setup.options.problem.targets == store::TargetKind::kNumbers);
}

Int8Scoring::Int8Scoring(const TrainingSetup& setup, const space::Network& network,
                         std::vector<trial::NamedTensor> tensors, space::Int8Network made)
    : host_(on_host(setup)),
      tensors_(std::move(tensors)),
      made_(std::move(made)),
      real_(network, made_.view, tensors_),
      forward_(made_, real_) {}

ScoredBatch Int8Scoring::score(SampleSet set, std::span<const std::int64_t> indices) const {
  const at::NoGradGuard no_gradients;
  const at::Tensor outputs = forward_.run(normalized_samples(host_, set, indices));
  const auto* values = outputs.const_data_ptr<float>();
  return {.outputs = {values, values + outputs.numel()}};
}

}  // namespace skyline::train
