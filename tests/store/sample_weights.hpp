#pragma once

#include "sample_run.hpp"
#include "store/weights/weights.hpp"

#include <cstring>
#include <limits>

namespace skyline::testing {

/// Layers in an order that is not the alphabet's, a scalar, an empty tensor, odd floats.
inline store::WeightsFile sample_weights() {
  store::WeightsFile weights;
  trial::Trial trial = sample_trials(sample_space(), 6)[5].trial;  // that inherits
  trial.number = 41;
  weights.trial = trial.number;
  weights.provenance = store::provenance(trial, {"0.1.0", std::string(64, 'c')});
  weights.genotype = "depth=3 größe=5";
  weights.tensors = {{"linear_0.weight", {2, 3}, {1, -2, 0.5f, 1e-45f, 3e38f, -0.0f}},
                     {"conv2d_0.weight", {1, 2, 1, 1}, {1.5f, std::numeric_limits<float>::quiet_NaN()}},
                     {"conv2d_0.bias", {1}, {std::numeric_limits<float>::infinity()}},
                     {"cell.node_1.bias", {0}, {}},
                     {"batch_norm_0.momentum", {}, {0.1f}}};
  return weights;
}

/// Equal in every bit.
inline bool same_weights(const store::WeightsFile& left, const store::WeightsFile& right) {
  const auto same_tensor = [](const trial::NamedTensor& a, const trial::NamedTensor& b) {
    return a.name == b.name && a.dims == b.dims && a.values.size() == b.values.size() &&
           (a.values.empty() ||
            std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0);
  };
  return left.trial == right.trial && left.provenance == right.provenance &&
         left.genotype == right.genotype &&
         std::equal(left.tensors.begin(), left.tensors.end(), right.tensors.begin(), right.tensors.end(),
                    same_tensor);
}

}  // namespace skyline::testing
