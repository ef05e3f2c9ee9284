#include "train/sharing/memory_forecast.hpp"

#include "skyline/core/error.hpp"

#include "train/graph/layer_graph.hpp"
#include "train/group/gradient_exchange.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::train {
namespace {

constexpr double kSafety = 1.25;  // blocks are rounded up, and kernels use temporaries

/// Work space of the libraries for convolutions and products, per stream.
constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

constexpr double kDeviceEvaluationBatch = 256;  // Learner::evaluation_batch() on devices
constexpr double kHostEvaluationBatch = 64;     // the same with kernels of our own

/// Scratch memory of oneDNN, and the freed small blocks that a slot's thread keeps.
constexpr std::uint64_t kHostWorkspaceBytes = std::uint64_t{16} << 20;

/// Returns how many numbers the optimizer keeps per parameter on a device.
double moments(const OptimizerOptions& optimizer) {
  if (optimizer.is_adam()) return 2;
  return optimizer.momentum > 0 ? 1 : 0;
}

/// Returns how many more copies of the tensors a full training keeps.
double full_copies(const FinalTrainingOptions& options) {
  return (options.average > 0 ? 1 : 0) + (options.keep == FinalTrainingOptions::Keep::kBest ? 1 : 0);
}

/// Returns the floats of a bucket of gradients: whole layers of at least the wanted size.
double bucket_floats(double parameters, double largest_layer) {
  const auto least = static_cast<double>(BucketSizes().other_bytes / sizeof(float));
  return std::min(parameters, std::max(least, largest_layer));
}

/// Returns the floats for all parameters: values, gradients, optimizer, and in a group the sums.
/// @param numbers  numbers that the optimizer keeps per parameter
double parameter_floats(double parameters, double largest_layer, double numbers,
                        const TrainingOptions& options, std::uint32_t members) {
  const bool accumulates = options.accumulate > 1;
  const double added = accumulates ? largest_layer : 0;  // beside the sum of the earlier parts
  if (members == 1) return (2 + numbers) * parameters + added;
  const double own = (numbers + 1) * parameters / members;  // with sharding
  const double bucket = bucket_floats(parameters, largest_layer);
  switch (options.group.sharding) {
    case GroupOptions::Sharding::kNone:
      return (3 + numbers) * parameters + added;
    case GroupOptions::Sharding::kOptimizer:
      return 3 * parameters + own + added;
    case GroupOptions::Sharding::kGradients:
      // Two buckets are being sent, and backward fills a third, or adds to the sum of the earlier parts.
      return parameters + own + std::min(parameters, 2 * bucket) +
             (accumulates ? parameters + added : bucket);
  }
  throw InternalError("unknown sharding");
}

/// Returns the samples of a member's training pass: for recalibration each member has the whole batch.
double samples_per_pass(const TrainingOptions& options, std::uint32_t members) {
  const auto batch = static_cast<double>(options.batch);
  const bool whole = options.recalibrate > 0 && options.group.statistics == GroupOptions::Statistics::kLocal;
  const double samples = whole ? batch : std::ceil(batch / members);
  return std::ceil(samples / static_cast<double>(options.accumulate));
}

struct Sizes {
  double tensors = 0;        // floats of all parameters and buffers
  double largest_layer = 0;  // floats of the layer that has most
  double kept = 0;           // floats kept for the backward pass, per sample
};

/// @param inputs  copies of the images: on devices the batch, and what a convolution makes of it in its own
/// order
Sizes sizes_of(const space::Network& network, double inputs) {
  Sizes sizes{.kept = inputs * static_cast<double>(network.input.elements())};
  for (const space::Layer& layer : network.layers) {
    double own = 0;
    for (const space::TensorSpec& spec : layer.tensors) own += static_cast<double>(spec.elements());
    sizes.tensors += own;
    sizes.largest_layer = std::max(sizes.largest_layer, own);
    sizes.kept += outputs_kept(layer.kind) * static_cast<double>(layer.output.elements()) +
                  static_cast<double>(layer.inner_elements);
  }
  return sizes;
}

}  // namespace

std::size_t predict_device_bytes(const space::Network& network, const TrainingOptions& options,
                                 std::uint32_t members) {
  const Sizes sizes = sizes_of(network, 2);
  const double batch = samples_per_pass(options, members);
  // The backward pass holds gradients of activations around one layer at a time.
  const auto peak = static_cast<double>(network.cost.peak_activation_bytes);
  const double training = sizeof(float) * batch * sizes.kept + 2 * batch * peak;
  const double scoring = kDeviceEvaluationBatch * peak;
  // The memory of recalibration still exists during the scoring that follows.
  const double passing = options.recalibrate > 0 ? training + scoring : std::max(training, scoring);
  const double parameters =
      parameter_floats(sizes.tensors, sizes.largest_layer, moments(options.optimizer), options, members) +
      full_copies(options.full) * sizes.tensors;
  return static_cast<std::size_t>(kSafety * (sizeof(float) * parameters + passing)) + kWorkspaceBytes;
}

std::uint64_t predict_host_bytes(const space::Network& network, const TrainingOptions& options,
                                 std::uint32_t members) {
  const Sizes sizes = sizes_of(network, 1);
  const double batch = samples_per_pass(options, members);
  const auto peak = static_cast<double>(network.cost.peak_activation_bytes);
  const double activations = batch * (sizeof(float) * sizes.kept + 2 * peak) + kHostEvaluationBatch * peak;
  // Weights to keep, and a checkpoint that is being written.
  const double numbers = std::max(1.0, moments(options.optimizer));  // on the CPU at least one
  const double copies = 3 + numbers + 2 * full_copies(options.full);
  const double parameters = parameter_floats(sizes.tensors, sizes.largest_layer, numbers, options, members) +
                            copies * sizes.tensors;
  return static_cast<std::uint64_t>(sizeof(float) * parameters + activations) + kHostWorkspaceBytes;
}

}  // namespace skyline::train
