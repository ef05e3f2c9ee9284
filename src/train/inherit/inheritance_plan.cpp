#include "train/inherit/inheritance_plan.hpp"

#include "skyline/core/error.hpp"
#include "skyline/space/layer_kind.hpp"

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

CommonRange centred(std::int64_t parent, std::int64_t child) {
  const std::int64_t shift = (parent - 1) / 2 - (child - 1) / 2;
  const std::int64_t first = std::max<std::int64_t>(0, -shift);
  return {parent, child, first + shift, first, std::min(child, parent - shift) - first};
}

std::vector<CommonRange> common_ranges(const Shape& parent, const Shape& child) {
  std::vector<CommonRange> ranges{
      {parent.channels, child.channels, 0, 0, std::min(parent.channels, child.channels)},
      centred(parent.height, child.height),
      centred(parent.width, child.width)};
  std::erase_if(ranges,
                [](const CommonRange& range) { return range.parent_extent == 1 && range.child_extent == 1; });
  return ranges;
}

std::vector<CommonSegment> common_segments(const space::Axis& parent, const space::Axis& child) {
  std::vector<CommonSegment> segments;
  std::int64_t parent_first = 0;
  std::int64_t child_first = 0;
  for (std::size_t i = 0; i < std::min(parent.size(), child.size()); ++i) {
    segments.push_back({parent_first, parent[i].elements(), child_first, child[i].elements(),
                        common_ranges(parent[i], child[i])});
    parent_first += parent[i].elements();
    child_first += child[i].elements();
  }
  return segments;
}

CopySlice copy_slice(std::optional<std::size_t> from, const std::vector<space::Axis>& parent_axes,
                     std::size_t to, const std::vector<space::Axis>& child_axes) {
  require(!child_axes.empty() && parent_axes.size() == child_axes.size(), "tensors of different rank");
  CopySlice step{from, to, {}};
  for (std::size_t axis = 0; axis < child_axes.size(); ++axis) {
    step.axes.push_back(common_segments(parent_axes[axis], child_axes[axis]));
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
        child_first_(first_tensors(child)),
        readers_(child.layers.size()),
        starts_at_zero_(child.layers.size()) {
    for (const Layer& layer : child.layers) {
      for (const std::size_t input : layer.inputs) ++readers_[input];
    }
    for (const Layer& layer : child.layers) {
      if (traits_of(layer).adds) find_added_branches(layer);
    }
  }

  std::vector<InheritanceStep> run() {
    for (std::size_t c = 0; c < child_.layers.size(); ++c) {
      if (alignment_[c]) continue_layer(*alignment_[c], c);
      if (starts_at_zero_[c]) start_at_zero(c);
      const bool passes = !alignment_[c] && !starts_at_zero_[c] && pass_on(c);
      statistics_.push_back(passes ? input_statistics(c) : output_statistics(c));
    }
    return std::move(steps_);
  }

 private:
  using Statistics = std::optional<KnownStatistics>;

  std::size_t tensor(std::size_t c, const std::string& name) const;

  void continue_layer(std::size_t p, std::size_t c);
  /// Plans that an added layer returns its input. Returns false and plans nothing if it cannot.
  bool pass_on(std::size_t c);
  bool pass_on_norm(std::size_t c);
  void start_at_zero(std::size_t c);
  void find_added_branches(const Layer& sum);
  std::optional<std::size_t> end_of_added_branch(std::size_t layer) const;

  Statistics input_statistics(std::size_t c) const;
  Statistics output_statistics(std::size_t c) const;

  const Network& parent_;
  const Network& child_;
  const space::NetworkAlignment alignment_;
  const std::vector<std::size_t> parent_first_;  // index of each layer's first tensor
  const std::vector<std::size_t> child_first_;
  std::vector<std::size_t> readers_;  // number of readers of each output of the child's layers
  std::vector<bool> starts_at_zero_;
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
    const std::vector<space::Axis> axes = tensor_axes(child_, c, spec);
    if (const space::TensorSpec* old = find_tensor(theirs, spec.name)) {
      const std::size_t from = parent_first_[p] + index_in(theirs, *old);
      steps_.emplace_back(copy_slice(from, tensor_axes(parent_, p, *old), to, axes));
    } else if (spec.name == "bias") {  // a missing bias acts as zero
      steps_.emplace_back(copy_slice(std::nullopt, {{{theirs.output.channels, 1, 1}}}, to, axes));
    }
  }
}

bool Planner::pass_on(std::size_t c) {
  const Layer& layer = child_.layers[c];
  const space::Traits traits = traits_of(layer);
  if (traits.normalizes()) return pass_on_norm(c);
  if (!traits.may_be_identity) return false;
  PassOn step{tensor(c, "weight"), std::nullopt, layer.input().channels};
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

void Planner::start_at_zero(std::size_t c) {
  StartAtZero step{tensor(c, "weight"), std::nullopt};
  if (find_tensor(child_.layers[c], "bias") != nullptr) step.bias = tensor(c, "bias");
  steps_.emplace_back(step);
}

/// Finds branches that the child adds to a sum; without a change the sum would differ from the parent's by
/// what they give. At least one input is not counted as added, so the sum still has the parent's features.
void Planner::find_added_branches(const Layer& sum) {
  std::vector<std::optional<std::size_t>> ends;
  for (const std::size_t input : sum.inputs) ends.push_back(end_of_added_branch(input));
  if (std::ranges::all_of(ends, [](const auto& end) { return end.has_value(); })) ends.front().reset();
  for (const std::optional<std::size_t>& end : ends) {
    if (end) starts_at_zero_[*end] = true;
  }
}

/// Returns the last layer with weights between the beginning of a branch and `layer`. Returns nullopt if
/// there is none, or if one of them continues a layer of the parent.
std::optional<std::size_t> Planner::end_of_added_branch(std::size_t layer) const {
  std::optional<std::size_t> end;
  while (readers_[layer] == 1) {
    const Layer& here = child_.layers[layer];
    if (!here.tensors.empty()) {
      if (alignment_[layer] || find_tensor(here, "weight") == nullptr) return std::nullopt;
      if (!end) end = layer;
    }
    if (here.inputs.size() != 1) break;
    layer = here.inputs.front();
  }
  return end;
}

Planner::Statistics Planner::input_statistics(std::size_t c) const {
  const std::vector<std::size_t>& inputs = child_.layers[c].inputs;
  return inputs.size() == 1 ? statistics_[inputs.front()] : std::nullopt;
}

Planner::Statistics Planner::output_statistics(std::size_t c) const {
  const Layer& layer = child_.layers[c];
  const space::Distribution distribution = traits_of(layer).distribution;
  if (distribution == space::Distribution::kUnknown || starts_at_zero_[c]) return std::nullopt;
  if (distribution == space::Distribution::kNormalized) {
    return KnownStatistics{tensor(c, "weight"), tensor(c, "bias"), false, layer.output.channels};
  }
  Statistics statistics = input_statistics(c);
  if (statistics && distribution == space::Distribution::kRectified) statistics->rectified = true;
  return statistics;
}

}  // namespace

std::vector<InheritanceStep> plan_inheritance(const Network& parent, const Network& child) {
  return Planner(parent, child).run();
}

}  // namespace skyline::train
