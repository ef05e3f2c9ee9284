#include "train/quantized/int8_numbers.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <span>

namespace skyline::train {
namespace {

using space::Int8Op;

constexpr double kMostBias = 0x1p30;  // leaves room in 32 bits for the products
constexpr double kMostWeight = 127;
constexpr double kLoneBias = 0x1p16;  // steps of a bias beside weights that are all 0

/// Returns the scale as float32; `otherwise` if the range is empty, or too small for a number with all its
/// digits.
float scale_of(double range, double steps, float otherwise = 1) {
  const auto scale = static_cast<float>(range / steps);
  return std::isnormal(scale) ? scale : otherwise;
}

/// Returns the scale of the weights of an output: one on which its bias fits, and that keeps the digits of a
/// bias without weights.
float weight_scale(double largest, double bias, const space::Int8Grid& input) {
  const double steps = std::abs(bias) / static_cast<double>(input.scale);
  return std::max(scale_of(largest, kMostWeight, scale_of(steps, kLoneBias)),
                  static_cast<float>(steps / kMostBias));
}

const trial::NamedTensor& trained_tensor(const space::Network& network,
                                         const std::vector<trial::NamedTensor>& tensors, std::size_t layer,
                                         const std::string& name) {
  const std::string full_name = network.layers.at(layer).name + "." + name;
  const auto found = std::ranges::find(tensors, full_name, &trial::NamedTensor::name);
  require(found != tensors.end(), "tensors that are not those of the network");
  return *found;
}

std::span<double> weights_of_output(FoldedProducts& products, std::size_t output) {
  const std::size_t each = products.weights.size() / products.biases.size();
  return std::span(products.weights).subspan(output * each, each);
}

/// Multiplies a norm into the products.
void fold_norm(const space::Network& network, const std::vector<trial::NamedTensor>& tensors,
               std::size_t norm, FoldedProducts& products) {
  const auto values = [&](const char* name) -> const std::vector<float>& {
    return trained_tensor(network, tensors, norm, name).values;
  };
  const double epsilon = space::attribute_number(network.layers[norm], "epsilon");
  for (std::size_t c = 0; c < products.biases.size(); ++c) {
    const double gain = static_cast<double>(values("weight")[c]) /
                        std::sqrt(static_cast<double>(values("running_var")[c]) + epsilon);
    const double shift =
        static_cast<double>(values("bias")[c]) - static_cast<double>(values("running_mean")[c]) * gain;
    for (double& weight : weights_of_output(products, c)) weight *= gain;
    products.biases[c] = products.biases[c] * gain + shift;
  }
}

/// Returns the unit of each bias.
double bias_scale(const space::Int8Weights& weights, const space::Int8Grid& input, std::size_t output) {
  return static_cast<double>(input.scale) * static_cast<double>(weights.scales[output]);
}

}  // namespace

double rounded(double value, double least, double most) {
  return std::clamp(std::nearbyint(value), least, most);
}

space::Int8Grid grid_of(double low, double high) {
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  const float scale = scale_of(high - low, kMostInt8 - kLeastInt8);
  const double zero = rounded(kLeastInt8 - low / static_cast<double>(scale), kLeastInt8, kMostInt8);
  return {scale, static_cast<std::int32_t>(zero)};
}

std::optional<space::Int8Grid> fixed_grid(space::Int8Op op) {
  switch (op) {
    case Int8Op::kSigmoid:
    case Int8Op::kHardSigmoid:
    case Int8Op::kSoftmax:
      return space::Int8Grid{0x1p-8F, kLeastInt8};
    case Int8Op::kTanh:
      return space::Int8Grid{0x1p-7F, 0};
    default:
      return std::nullopt;
  }
}

bool keeps_grid(space::Int8Op op) {
  return op == Int8Op::kMaxPool || op == Int8Op::kMaximum || op == Int8Op::kView;
}

FoldedProducts folded_products(const space::Network& network, const std::vector<trial::NamedTensor>& tensors,
                               const space::Int8Step& step) {
  const space::Int8Products& products = step.products;
  FoldedProducts folded;
  if (products.weight.empty()) {
    folded.outputs = products.groups;
    folded.weights.assign(static_cast<std::size_t>(products.groups), products.factor);
  } else {
    const trial::NamedTensor& weight = trained_tensor(network, tensors, step.layer, products.weight);
    folded.outputs = weight.dims.at(0);
    for (const float value : weight.values)
      folded.weights.push_back(static_cast<double>(value) * products.factor);
  }
  folded.biases.assign(static_cast<std::size_t>(folded.outputs), 0.0);
  if (!products.bias.empty()) {
    const std::vector<float>& biases = trained_tensor(network, tensors, step.layer, products.bias).values;
    std::ranges::transform(biases, folded.biases.begin(),
                           [&](float bias) { return static_cast<double>(bias) * products.factor; });
  }
  for (const std::size_t norm : products.norms) fold_norm(network, tensors, norm, folded);
  return folded;
}

space::Int8Weights quantized_weights(const FoldedProducts& products, const space::Int8Grid& input) {
  space::Int8Weights made;
  const std::size_t each = products.weights.size() / products.biases.size();
  made.values.reserve(products.weights.size());
  for (std::size_t c = 0; c < products.biases.size(); ++c) {
    const auto weights = std::span(products.weights).subspan(c * each, each);
    double largest = 0;
    for (const double weight : weights) largest = std::max(largest, std::abs(weight));
    made.scales.push_back(weight_scale(largest, products.biases[c], input));
    for (const double weight : weights) {
      const double scaled = weight / static_cast<double>(made.scales.back());
      made.values.push_back(static_cast<std::int8_t>(rounded(scaled, -kMostWeight, kMostWeight)));
    }
    made.biases.push_back(0);
  }
  shift_biases(made, input, products.biases);
  return made;
}

void shift_biases(space::Int8Weights& weights, const space::Int8Grid& input,
                  const std::vector<double>& shifts) {
  for (std::size_t c = 0; c < shifts.size(); ++c) {
    const double shift = shifts[c] / bias_scale(weights, input, c);
    weights.biases[c] = static_cast<std::int32_t>(rounded(weights.biases[c] + shift, -kMostBias, kMostBias));
  }
}

bool fits_float(const space::Int8Weights& weights) {
  constexpr std::int64_t kExact = std::int64_t{1} << 24;
  const std::size_t each = weights.values.size() / weights.biases.size();
  for (std::size_t c = 0; c < weights.biases.size(); ++c) {
    std::int64_t most = std::abs(std::int64_t{weights.biases[c]});
    for (std::size_t i = 0; i < each; ++i)
      most += std::int64_t{std::abs(weights.values[c * each + i])} * (kMostInt8 - kLeastInt8);
    if (most > kExact) return false;
  }
  return true;
}

}  // namespace skyline::train
