#pragma once

#include "train/host_step.hpp"
#include "train/reference_step.hpp"
#include "train/train_fixtures.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

/// Training steps beside their oracle.
namespace skyline::train::test {

struct Samples {
  at::Tensor images;
  std::vector<std::int32_t> labels;
};

inline Samples random_samples(space::Shape shape, std::int64_t count, std::int64_t classes,
                              std::uint64_t seed) {
  RandomStream random(seed);
  Samples samples;
  samples.images = at::empty({count, shape.channels, shape.height, shape.width},
                             at::TensorOptions(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast));
  auto* values = samples.images.mutable_data_ptr<float>();
  std::generate(values, values + samples.images.numel(),
                [&] { return static_cast<float>(random.uniform()); });
  for (std::int64_t i = 0; i < count; ++i) {
    samples.labels.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(classes))));
  }
  return samples;
}

/// Largest difference, relative to the largest value.
inline double relative_difference(const std::vector<float>& left, const std::vector<float>& right) {
  double scale = 1e-3;  // the mean of normalized values is rounding
  double difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    scale = std::max(scale, std::abs(static_cast<double>(right[i])));
    difference = std::max(difference, std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i])));
  }
  return difference / scale;
}

inline OptimizerOptions sgd(double learning_rate, double momentum, bool nesterov = false,
                            double weight_decay = 0) {
  OptimizerOptions options;
  options.kind = OptimizerOptions::Kind::kSgd;
  options.learning_rate = learning_rate;
  options.momentum = momentum;
  options.nesterov = nesterov;
  options.weight_decay = weight_decay;
  return options;
}

/// Trains a step and its oracle side by side and compares losses, all tensors, and the logits of evaluation
/// mode.
inline void expect_agreement_with(Kernels kernels, const space::Network& network,
                                  const OptimizerOptions& options, int steps, double tolerance) {
  HostStep fused(network, options, 11, nullptr, {}, std::nullopt, kernels);
  ReferenceStep reference(network, options, 11);
  for (int i = 0; i < steps; ++i) {
    const Samples samples =
        random_samples(network.input, i == 1 ? 3 : 6, network.classes, 100 + static_cast<std::uint64_t>(i));
    const double loss = fused.step(samples.images, samples.labels);
    EXPECT_NEAR(loss, reference.step(samples.images, samples.labels), tolerance) << "step " << i;
  }
  const auto ours = fused.export_tensors();
  const auto theirs = reference.export_tensors();
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t t = 0; t < ours.size(); ++t) {
    EXPECT_EQ(ours[t].name, theirs[t].name);
    EXPECT_EQ(ours[t].dims, theirs[t].dims);
    EXPECT_LT(relative_difference(ours[t].values, theirs[t].values), tolerance) << ours[t].name;
  }
  const Samples unseen = random_samples(network.input, 5, network.classes, 999);
  const at::Tensor logits = fused.infer(unseen.images);
  EXPECT_LT(logits.sub(reference.infer(unseen.images)).abs().max().item<double>(), 20 * tolerance);
}

/// On the CPU, and as on a device.
inline void expect_agreement(const space::Network& network, const OptimizerOptions& options, int steps,
                             double tolerance) {
  for (const Kernels kernels : {Kernels::kOwn, Kernels::kAten}) {
    SCOPED_TRACE(kernels == Kernels::kOwn ? "on the CPU" : "as on a device");
    expect_agreement_with(kernels, network, options, steps, tolerance);
  }
}

}  // namespace skyline::train::test
