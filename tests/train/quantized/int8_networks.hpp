#pragma once

#include "skyline/core/random.hpp"
#include "skyline/space/network.hpp"
#include "skyline/trial/evaluator.hpp"

#include "space/quantized/int8_network.hpp"
#include "train/graph/layer_graph.hpp"
#include "train/quantized/int8_forward.hpp"
#include "train/quantized/quantize.hpp"
#include "train/quantized/real_steps.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>

/// Networks with drawn tensors, and their int8 forms.
namespace skyline::train::test {

inline at::Tensor drawn_tensor(RandomStream& random, const std::vector<std::int64_t>& dims, double low,
                               double high) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(low + (high - low) * random.uniform());
  return at::tensor(values).view(dims);
}

/// Tensors as a training could leave them: weights of about the size of their first values, variances and
/// gains above 0.
inline std::vector<trial::NamedTensor> drawn_tensors(const space::Network& network, RandomStream& random) {
  std::vector<trial::NamedTensor> tensors;
  for (const space::Layer& layer : network.layers) {
    for (const space::TensorSpec& spec : layer.tensors) {
      const bool is_weight = spec.dims.size() > 1;
      const double most =
          is_weight ? 1.5 / std::sqrt(static_cast<double>(spec.elements() / spec.dims[0])) : 0.6;
      const bool is_positive = spec.name == "running_var" || (!is_weight && spec.name == "weight");
      trial::NamedTensor& made =
          tensors.emplace_back(trial::NamedTensor{layer.name + "." + spec.name, spec.dims, {}});
      for (std::int64_t i = 0; i < spec.elements(); ++i) {
        const double drawn = is_positive ? 0.3 + random.uniform() : most * (2 * random.uniform() - 1);
        made.values.push_back(static_cast<float>(drawn));
      }
    }
  }
  return tensors;
}

inline trial::NamedTensor& tensor_named(std::vector<trial::NamedTensor>& tensors, const std::string& name) {
  for (trial::NamedTensor& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  throw InternalError("no tensor " + name);
}

inline at::Tensor float_outputs(const space::Network& network, const std::vector<trial::NamedTensor>& tensors,
                                const at::Tensor& images) {
  const WithoutAutograd no_autograd;
  const auto accelerator = make_host_accelerator(Kernels::kOwn);
  ParameterStore parameters(network, 1);
  parameters.import_tensors(tensors);
  DevicePlace place{.accelerator = accelerator.get()};
  LayerGraph graph(network, parameters, place);
  return graph.infer(images.contiguous(at::MemoryFormat::ChannelsLast)).flatten(1).contiguous();
}

/// @param batch  samples of a pass
inline at::Tensor int8_outputs(const space::Network& network, const std::vector<trial::NamedTensor>& tensors,
                               const space::Int8Network& made, const at::Tensor& images, std::int64_t batch) {
  const at::NoGradGuard no_gradients;
  const RealSteps real(network, made.view, tensors);
  const Int8Forward forward(made, real);
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < images.size(0); first += batch) {
    parts.push_back(forward.run(images.narrow(0, first, std::min(batch, images.size(0) - first))));
  }
  return at::cat(parts, 0).contiguous();
}

inline bool same_bits(const at::Tensor& left, const at::Tensor& right) {
  return left.sizes() == right.sizes() &&
         std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

/// Root of the mean square of the difference, relative to the deviation of the second.
inline double relative_error(const at::Tensor& got, const at::Tensor& expected) {
  const at::Tensor wide = expected.to(at::kDouble);
  const double size = std::sqrt(wide.sub(wide.mean()).square().mean().item<double>());
  return std::sqrt(got.to(at::kDouble).sub(wide).square().mean().item<double>()) / std::max(size, 1e-30);
}

}  // namespace skyline::train::test
