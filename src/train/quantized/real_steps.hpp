#pragma once

#include "skyline/space/network.hpp"
#include "skyline/trial/evaluator.hpp"

#include "space/quantized/int8_network.hpp"
#include "train/device/device_place.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/parameters/parameter_store.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Convolves float32 or float64 tensors of one type, [samples, channels, height, width]. Sums of whole
/// numbers are exact as long as the type holds them: neither oneDNN's direct convolution nor a matrix product
/// computes with fractions of its factors, as Winograd's algorithm does.
/// @param weight  [outputs, channels / groups, rows, columns]
/// @param bias    [outputs]
at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                    const space::Int8Products& products);

/// The steps of an int8 network without weights of their own, computed by their definition in real numbers,
/// on the CPU. One thread uses it.
class RealSteps {
 public:
  /// All arguments must outlive the object. @throws InternalError if the trainer lacks the op of a layer
  RealSteps(const space::Network& network, const space::Int8View& view,
            const std::vector<trial::NamedTensor>& tensors);
  /// Returns the output of a step other than kConvolution, before its limits. Whole layers, attention and
  /// softmax are computed in float64, because the last bits of LibTorch's functions in float32 depend on the
  /// batch.
  /// @param inputs  float32 [samples, channels, height, width]
  /// @throws UserError for a layer whose definition does not take float64
  at::Tensor compute(const space::Int8Step& step, const Activations& inputs, std::int64_t samples) const;

 private:
  at::Tensor compute_layer(std::size_t layer, const Activations& inputs) const;

  /// A layer by its own op, with tensors in float64.
  struct WholeLayer {
    std::string name;
    StoredLayer tensors = {};
    std::unique_ptr<FusedOp> op = nullptr;
  };

  std::unique_ptr<Accelerator> host_;
  DevicePlace place_;
  const space::Int8View& view_;
  std::map<std::size_t, WholeLayer> layers_;  // layers by their index
};

}  // namespace skyline::train
