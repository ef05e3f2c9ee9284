#include "train/inherit/inheritance_plan.hpp"

#include "skyline/core/error.hpp"

#include "space/network/network_alignment.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace skyline::train {
namespace {

using space::Layer;
using space::Network;
using space::Shape;

/// The batch norm whose outputs have the distribution of a layer's first channels.
struct KnownStatistics {
  std::size_t weight = 0;
  std::size_t bias = 0;
  bool rectified = false;
  std::int64_t channels = 0;
};

/// Whether a layer can pass its inputs on as its first outputs, one by one.
bool can_pass_on(const Layer& layer) {
  if (layer.kind == "linear") return layer.output.channels >= layer.input.channels;
  if (layer.kind != "conv2d") return false;
  const std::int64_t kernel = attribute_integer(layer, "kernel");
  return layer.output.channels >= layer.input.channels && attribute_integer(layer, "stride") == 1 &&
         kernel % 2 == 1 && attribute_integer(layer, "padding") == (kernel - 1) / 2;
}

CommonRange leading(std::int64_t parent, std::int64_t child) {
  return {parent, child, 0, 0, std::min(parent, child)};
}

CommonRange centred(std::int64_t parent, std::int64_t child) {
  const std::int64_t shift = (parent - 1) / 2 - (child - 1) / 2;
  const std::int64_t first = std::max<std::int64_t>(0, -shift);
  return {parent, child, first + shift, first, std::min(child, parent - shift) - first};
}

/// Adds the ranges of one tensor; dimensions with a single index are left out.
void add_ranges(std::vector<CommonRange>& dims, const Shape& parent, const Shape& child) {
  for (const CommonRange& range :
       {leading(parent.channels, child.channels), centred(parent.height, child.height),
        centred(parent.width, child.width)}) {
    if (range.parent_extent != 1 || range.child_extent != 1) dims.push_back(range);
  }
}

TakeBlock take_block(std::optional<std::size_t> from, const std::vector<Shape>& parent_axes, std::size_t to,
                     const std::vector<Shape>& child_axes) {
  require(!child_axes.empty() && parent_axes.size() == child_axes.size(), "tensors of different rank");
  TakeBlock step{from, to, {}, 0};
  for (std::size_t axis = 0; axis < child_axes.size(); ++axis) {
    add_ranges(step.dims, parent_axes[axis], child_axes[axis]);
    if (axis == 0) step.output_dims = step.dims.size();
  }
  return step;
}

std::vector<std::size_t> first_tensors(const Network& network) {
  std::vector<std::size_t> first;
  std::size_t next = 0;
  for (const Layer& layer : network.layers) {
    first.push_back(next);
    next += layer.tensors.size();
  }
  return first;
}

class Planner {
 public:
  Planner(const Network& parent, const Network& child)
      : parent_(parent),
        child_(child),
        alignment_(align(parent, child)),
        parent_first_(first_tensors(parent)),
        child_first_(first_tensors(child)) {}

  std::vector<InheritanceStep> run() {
    for (std::size_t c = 0; c < child_.layers.size(); ++c) {
      if (alignment_[c]) continue_layer(*alignment_[c], c);
      const bool passes = !alignment_[c] && pass_on(c);
      statistics_.push_back(passes ? input_statistics(c) : output_statistics(c));
    }
    return std::move(steps_);
  }

 private:
  using Statistics = std::optional<KnownStatistics>;

  std::size_t tensor(std::size_t c, const std::string& name) const;

  void continue_layer(std::size_t p, std::size_t c);
  /// Plans that an added layer passes its input on. Returns false, and plans nothing, if it cannot.
  bool pass_on(std::size_t c);
  bool pass_on_norm(std::size_t c);

  Statistics input_statistics(std::size_t c) const;
  Statistics output_statistics(std::size_t c) const;

  const Network& parent_;
  const Network& child_;
  const space::NetworkAlignment alignment_;
  const std::vector<std::size_t> parent_first_;  // index of each layer's first tensor
  const std::vector<std::size_t> child_first_;
  std::vector<Statistics> statistics_;  // statistics of the outputs of the child's layers so far
  std::vector<InheritanceStep> steps_;
};

std::size_t index_in(const Layer& layer, const space::TensorSpec& spec) {
  return static_cast<std::size_t>(&spec - layer.tensors.data());
}

std::size_t Planner::tensor(std::size_t c, const std::string& name) const {
  const Layer& layer = child_.layers[c];
  const space::TensorSpec* spec = find_tensor(layer, name);
  if (spec == nullptr) throw InternalError("layer " + layer.name + " has no tensor " + name);
  return child_first_[c] + index_in(layer, *spec);
}

void Planner::continue_layer(std::size_t p, std::size_t c) {
  const Layer& theirs = parent_.layers[p];
  const Layer& mine = child_.layers[c];
  for (const space::TensorSpec& spec : mine.tensors) {
    const std::size_t to = child_first_[c] + index_in(mine, spec);
    const std::vector<Shape> axes = tensor_axes(child_, c, spec);
    if (const space::TensorSpec* old = find_tensor(theirs, spec.name)) {
      const std::size_t from = parent_first_[p] + index_in(theirs, *old);
      steps_.emplace_back(take_block(from, tensor_axes(parent_, p, *old), to, axes));
    } else if (spec.name == "bias") {  // a missing bias acts as zero
      steps_.emplace_back(take_block(std::nullopt, {{theirs.output.channels, 1, 1}}, to, axes));
    }
  }
}

bool Planner::pass_on(std::size_t c) {
  const Layer& layer = child_.layers[c];
  if (layer.kind == "batch_norm") return pass_on_norm(c);
  if (!can_pass_on(layer)) return false;
  PassOn step{tensor(c, "weight"), std::nullopt, layer.input.channels};
  if (find_tensor(layer, "bias") != nullptr) step.bias = tensor(c, "bias");
  steps_.emplace_back(step);
  return true;
}

bool Planner::pass_on_norm(std::size_t c) {
  const Statistics statistics = input_statistics(c);
  if (!statistics) return false;
  steps_.emplace_back(PassOnNorm{.weight = tensor(c, "weight"),
                                 .bias = tensor(c, "bias"),
                                 .running_mean = tensor(c, "running_mean"),
                                 .running_var = tensor(c, "running_var"),
                                 .epsilon = attribute_number(child_.layers[c], "epsilon"),
                                 .source_weight = statistics->weight,
                                 .source_bias = statistics->bias,
                                 .rectified = statistics->rectified,
                                 .channels = statistics->channels});
  return true;
}

Planner::Statistics Planner::input_statistics(std::size_t c) const {
  const std::vector<std::size_t>& inputs = child_.layers[c].inputs;
  return inputs.size() == 1 ? statistics_[inputs.front()] : std::nullopt;
}

Planner::Statistics Planner::output_statistics(std::size_t c) const {
  const Layer& layer = child_.layers[c];
  if (layer.kind == "batch_norm") {
    return KnownStatistics{tensor(c, "weight"), tensor(c, "bias"), false, layer.output.channels};
  }
  Statistics statistics = input_statistics(c);
  if (layer.kind == "max_pool") return statistics;  // approximately
  if (layer.kind != "relu") return std::nullopt;
  if (statistics) statistics->rectified = true;
  return statistics;
}

}  // namespace

std::vector<InheritanceStep> plan_inheritance(const Network& parent, const Network& child) {
  return Planner(parent, child).run();
}

}  // namespace skyline::train
