#include "train/inheritance.hpp"

#include "skyline/core/error.hpp"
#include "skyline/space/network_alignment.hpp"

#include "train/tensor_block.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <unordered_map>

namespace skyline::train {
namespace {

using objective::NamedTensor;
using space::Layer;
using space::Network;

/// What is known of the values of a channel. A normal distribution, by the batch norm that made it, or what
/// a ReLU leaves of one.
struct ChannelStatistics {
  bool known = false;
  bool rectified = false;
  double mean = 0;
  double variance = 1;
};

/// Mean and variance of max(0, x).
ChannelStatistics rectify(const ChannelStatistics& x) {
  if (!x.known || x.rectified) return x;
  const double deviation = std::sqrt(x.variance);
  if (deviation == 0) return {true, true, std::max(0.0, x.mean), 0};
  const double z = x.mean / deviation;
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);  // share of the values above zero
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  const double mean = x.mean * below + deviation * density;
  const double square = (x.mean * x.mean + x.variance) * below + x.mean * deviation * density;
  return {true, true, mean, std::max(0.0, square - mean * mean)};
}

/// Whether a layer's outputs can be its inputs, one for one, with some left over or not.
bool can_pass_on(const Layer& layer) {
  if (layer.kind == "linear") return layer.output.channels >= layer.input.channels;
  if (layer.kind != "conv2d") return false;
  const std::int64_t kernel = attribute_integer(layer, "kernel");
  return layer.output.channels >= layer.input.channels && attribute_integer(layer, "stride") == 1 &&
         kernel % 2 == 1 && attribute_integer(layer, "padding") == (kernel - 1) / 2;
}

class Inheritor {
 public:
  Inheritor(const Network& parent, const std::vector<NamedTensor>& trained, const Network& child,
            std::vector<NamedTensor> fresh)
      : parent_(parent), child_(child), alignment_(align(parent, child)), tensors_(std::move(fresh)) {
    for (const NamedTensor& tensor : trained) trained_[tensor.name] = &tensor;
    check_parent();
    check_child();
  }

  std::vector<NamedTensor> run() {
    for (std::size_t c = 0; c < child_.layers.size(); ++c) {
      if (alignment_[c]) continue_layer(*alignment_[c], c);
      const bool passes = !alignment_[c] && pass_on(c);
      statistics_.push_back(passes ? passed_on(c) : output_statistics(c));
    }
    return std::move(tensors_);
  }

 private:
  using Statistics = std::vector<ChannelStatistics>;  // [channels]

  void check_parent() const;
  void check_child();
  const NamedTensor& trained(const Layer& layer, const std::string& name) const;
  NamedTensor& tensor(std::size_t c, std::string_view name);

  void continue_layer(std::size_t p, std::size_t c);
  /// Makes an added layer hand its input on. Returns false, and changes nothing, if it cannot.
  bool pass_on(std::size_t c);
  void make_identity(std::size_t c);
  bool make_identity_norm(std::size_t c);

  Statistics input_statistics(std::size_t c) const;
  Statistics passed_on(std::size_t c) const;
  Statistics output_statistics(std::size_t c);

  const Network& parent_;
  const Network& child_;
  space::NetworkAlignment alignment_;
  std::unordered_map<std::string_view, const NamedTensor*> trained_;
  std::vector<NamedTensor> tensors_;       // of the child
  std::vector<std::size_t> first_tensor_;  // of each layer of the child
  std::vector<Statistics> statistics_;     // of the outputs of the child's layers so far
};

void check_tensor(const NamedTensor& tensor, const space::TensorSpec& spec) {
  if (tensor.dims != spec.dims || tensor.values.size() != static_cast<std::size_t>(spec.elements())) {
    throw InternalError("tensor " + tensor.name + " has not the shape that its network gives it");
  }
}

const NamedTensor& Inheritor::trained(const Layer& layer, const std::string& name) const {
  const auto found = trained_.find(layer.name + "." + name);
  if (found == trained_.end()) {
    throw InternalError("the parent's weights have no tensor " + layer.name + "." + name);
  }
  return *found->second;
}

void Inheritor::check_parent() const {
  for (const Layer& layer : parent_.layers) {
    for (const space::TensorSpec& spec : layer.tensors) check_tensor(trained(layer, spec.name), spec);
  }
}

void Inheritor::check_child() {
  std::size_t next = 0;
  for (const Layer& layer : child_.layers) {
    first_tensor_.push_back(next);
    for (const space::TensorSpec& spec : layer.tensors) {
      require(next < tensors_.size(), "too few fresh tensors");
      check_tensor(tensors_[next++], spec);
    }
  }
}

NamedTensor& Inheritor::tensor(std::size_t c, std::string_view name) {
  const auto& specs = child_.layers[c].tensors;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == name) return tensors_[first_tensor_[c] + i];
  }
  throw InternalError("layer " + child_.layers[c].name + " has no tensor " + std::string(name));
}

void Inheritor::continue_layer(std::size_t p, std::size_t c) {
  const Layer& theirs = parent_.layers[p];
  for (const space::TensorSpec& spec : child_.layers[c].tensors) {
    const std::vector<space::Shape> axes = tensor_axes(child_, c, spec);
    if (const space::TensorSpec* old = find_tensor(theirs, spec.name)) {
      copy_common_block(trained(theirs, spec.name), tensor_axes(parent_, p, *old), tensor(c, spec.name),
                        axes);
    } else if (spec.name == "bias") {  // the parent computed as with a bias of zero
      clear_common_outputs({theirs.output.channels, 1, 1}, tensor(c, spec.name), axes.front());
    }
  }
}

bool Inheritor::pass_on(std::size_t c) {
  if (child_.layers[c].kind == "batch_norm") return make_identity_norm(c);
  if (!can_pass_on(child_.layers[c])) return false;
  make_identity(c);
  return true;
}

void Inheritor::make_identity(std::size_t c) {
  const Layer& layer = child_.layers[c];
  NamedTensor& weight = tensor(c, "weight");
  const auto inputs = static_cast<std::size_t>(layer.input.channels);
  const std::size_t fan_in = weight.values.size() / static_cast<std::size_t>(weight.dims.front());
  const std::size_t window = fan_in / inputs;
  std::fill_n(weight.values.begin(), inputs * fan_in, 0.0F);
  for (std::size_t i = 0; i < inputs; ++i) weight.values[i * fan_in + i * window + window / 2] = 1;
  if (find_tensor(layer, "bias") != nullptr) std::fill_n(tensor(c, "bias").values.begin(), inputs, 0.0F);
}

bool Inheritor::make_identity_norm(std::size_t c) {
  const Statistics statistics = input_statistics(c);
  const double epsilon = attribute_number(child_.layers[c], "epsilon");
  bool any = false;
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    if (!statistics[i].known) continue;
    any = true;
    const auto mean = static_cast<float>(statistics[i].mean);
    tensor(c, "running_mean").values[i] = mean;
    tensor(c, "bias").values[i] = mean;
    tensor(c, "running_var").values[i] = static_cast<float>(statistics[i].variance);
    tensor(c, "weight").values[i] = static_cast<float>(std::sqrt(statistics[i].variance + epsilon));
  }
  return any;
}

Inheritor::Statistics Inheritor::input_statistics(std::size_t c) const {
  const Layer& layer = child_.layers[c];
  if (layer.inputs.size() == 1) return statistics_[layer.inputs.front()];
  return Statistics(static_cast<std::size_t>(layer.input.channels));
}

Inheritor::Statistics Inheritor::passed_on(std::size_t c) const {
  Statistics statistics = input_statistics(c);
  statistics.resize(static_cast<std::size_t>(child_.layers[c].output.channels));
  return statistics;
}

Inheritor::Statistics Inheritor::output_statistics(std::size_t c) {
  const Layer& layer = child_.layers[c];
  Statistics statistics = input_statistics(c);
  if (layer.kind == "max_pool") return statistics;  // not quite, but nearer than nothing
  if (layer.kind == "relu") {
    std::transform(statistics.begin(), statistics.end(), statistics.begin(), rectify);
    return statistics;
  }
  statistics.assign(static_cast<std::size_t>(layer.output.channels), {});
  if (layer.kind != "batch_norm") return statistics;
  const std::vector<float>& scale = tensor(c, "weight").values;
  const std::vector<float>& shift = tensor(c, "bias").values;
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    statistics[i] = {true, false, shift[i], static_cast<double>(scale[i]) * scale[i]};
  }
  return statistics;
}

}  // namespace

std::vector<NamedTensor> inherit_weights(const Network& parent, const std::vector<NamedTensor>& trained,
                                         const Network& child, std::vector<NamedTensor> fresh) {
  return Inheritor(parent, trained, child, std::move(fresh)).run();
}

}  // namespace skyline::train
