#include "train/inherit/weight_transfer.hpp"

#include "skyline/core/error.hpp"

#include "train/inherit/inheritance_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

namespace skyline::train {
namespace {

using space::Layer;
using space::Network;
using trial::NamedTensor;

struct Moments {
  double mean = 0;
  double variance = 1;
};

/// Returns the moments of max(0, x) for a normally distributed x.
Moments rectify(const Moments& x) {
  const double deviation = std::sqrt(x.variance);
  if (deviation == 0) return {std::max(0.0, x.mean), 0};
  const double z = x.mean / deviation;
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);  // share of the values above zero
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  const double mean = x.mean * below + deviation * density;
  const double square = (x.mean * x.mean + x.variance) * below + x.mean * deviation * density;
  return {mean, std::max(0.0, square - mean * mean)};
}

/// The side of a common block: the parent's or the child's.
struct BlockSide {
  std::int64_t CommonSegment::*first;
  std::int64_t CommonSegment::*extent;
  std::int64_t CommonRange::*range_extent;
  std::int64_t CommonRange::*range_first;
};
constexpr BlockSide kParentSide{&CommonSegment::parent_first, &CommonSegment::parent_extent,
                                &CommonRange::parent_extent, &CommonRange::parent_first};
constexpr BlockSide kChildSide{&CommonSegment::child_first, &CommonSegment::child_extent,
                               &CommonRange::child_extent, &CommonRange::child_first};

/// Returns the common part of these segments of a tensor's first axes, and all of its other axes.
at::Tensor common_part(at::Tensor tensor, const std::vector<const CommonSegment*>& segments,
                       const BlockSide& side) {
  std::vector<std::int64_t> sizes;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(tensor.dim()); ++axis) {
    const auto dim = static_cast<std::int64_t>(axis);
    if (axis >= segments.size()) {
      sizes.push_back(tensor.size(dim));
      continue;
    }
    tensor = tensor.narrow(dim, segments[axis]->*side.first, segments[axis]->*side.extent);
    for (const CommonRange& range : segments[axis]->dims) sizes.push_back(range.*side.range_extent);
  }
  tensor = tensor.view(sizes);
  std::int64_t dim = 0;
  for (const CommonSegment* segment : segments) {
    for (const CommonRange& range : segment->dims) {
      tensor = tensor.narrow(dim++, range.*side.range_first, range.count);
    }
  }
  return tensor;
}

class Execution {
 public:
  Execution(const std::vector<at::Tensor>& parent, const std::vector<at::Tensor>& child)
      : parent_(parent), child_(child) {}

  void operator()(const CopySlice& step) const;
  void operator()(const PassOn& step) const;
  void operator()(const PassOnNorm& step) const;
  void operator()(const StartAtZero& step) const;

 private:
  void copy(const CopySlice& step, std::vector<const CommonSegment*> segments) const;

  const std::vector<at::Tensor>& parent_;
  const std::vector<at::Tensor>& child_;
};

void Execution::operator()(const CopySlice& step) const {
  for (const CommonSegment& outputs : step.axes.front()) {
    common_part(child_.at(step.to), {&outputs}, kChildSide).zero_();
    if (step.from) copy(step, {&outputs});
  }
}

/// @param segments  segments of the first axes
void Execution::copy(const CopySlice& step, std::vector<const CommonSegment*> segments) const {
  if (segments.size() == step.axes.size()) {
    const at::Tensor from = common_part(parent_.at(*step.from), segments, kParentSide);
    common_part(child_.at(step.to), segments, kChildSide).copy_(from);
    return;
  }
  const std::vector<CommonSegment>& choice = step.axes[segments.size()];
  segments.push_back(nullptr);
  for (const CommonSegment& segment : choice) {
    segments.back() = &segment;
    copy(step, segments);
  }
}

void Execution::operator()(const PassOn& step) const {
  at::Tensor weight = child_.at(step.weight).narrow(0, 0, step.channels);
  weight.zero_();
  while (weight.dim() > 2) weight = weight.select(2, weight.size(2) / 2);
  const std::int64_t group = weight.size(1);  // channels that an output reads; all of them without groups
  weight.unflatten(0, {step.channels / group, group}).diagonal(0, 1, 2).fill_(1);
  if (step.bias) child_.at(*step.bias).narrow(0, 0, step.channels).zero_();
}

void Execution::operator()(const PassOnNorm& step) const {
  const auto values = [this](std::size_t tensor) { return child_.at(tensor).mutable_data_ptr<float>(); };
  const float* scale = values(step.source_weight);
  const float* shift = values(step.source_bias);
  for (std::int64_t i = 0; i < step.channels; ++i) {
    const Moments normal{shift[i], static_cast<double>(scale[i]) * scale[i]};
    const Moments input = step.rectified ? rectify(normal) : normal;
    values(step.running_mean)[i] = values(step.bias)[i] = static_cast<float>(input.mean);
    values(step.running_var)[i] = static_cast<float>(input.variance);
    values(step.weight)[i] = static_cast<float>(std::sqrt(input.variance + step.epsilon));
  }
}

void Execution::operator()(const StartAtZero& step) const {
  child_.at(step.weight).zero_();
  if (step.bias) child_.at(*step.bias).zero_();
}

void check_tensor(const NamedTensor& tensor, const space::TensorSpec& spec) {
  if (tensor.dims != spec.dims || tensor.values.size() != static_cast<std::size_t>(spec.elements())) {
    throw InternalError("tensor " + tensor.name + " has not the shape that its network gives it");
  }
}

/// Returns a view of a tensor. Nobody writes to it if the values are constant.
at::Tensor view_of(const NamedTensor& tensor) {
  return at::from_blob(const_cast<float*>(tensor.values.data()), tensor.dims, at::kFloat);
}

std::vector<at::Tensor> parents_tensors(const Network& network, const std::vector<NamedTensor>& trained) {
  std::unordered_map<std::string_view, const NamedTensor*> by_name;
  for (const NamedTensor& tensor : trained) by_name[tensor.name] = &tensor;
  std::vector<at::Tensor> tensors;
  for (const Layer& layer : network.layers) {
    for (const space::TensorSpec& spec : layer.tensors) {
      const std::string name = layer.name + "." + spec.name;
      const auto found = by_name.find(name);
      if (found == by_name.end()) throw InternalError("the parent's weights have no tensor " + name);
      check_tensor(*found->second, spec);
      tensors.push_back(view_of(*found->second));
    }
  }
  return tensors;
}

std::vector<at::Tensor> childs_tensors(const Network& network, std::vector<NamedTensor>& fresh) {
  std::vector<at::Tensor> tensors;
  for (const Layer& layer : network.layers) {
    for (const space::TensorSpec& spec : layer.tensors) {
      require(tensors.size() < fresh.size(), "too few fresh tensors");
      NamedTensor& tensor = fresh[tensors.size()];
      check_tensor(tensor, spec);
      tensors.push_back(view_of(tensor));
    }
  }
  return tensors;
}

}  // namespace

std::vector<NamedTensor> inherit_weights(const Network& parent, const std::vector<NamedTensor>& trained,
                                         const Network& child, std::vector<NamedTensor> fresh) {
  const std::vector<at::Tensor> from = parents_tensors(parent, trained);
  const std::vector<at::Tensor> to = childs_tensors(child, fresh);
  const at::NoGradGuard no_gradients;
  const Execution execution(from, to);
  for (const InheritanceStep& step : plan_inheritance(parent, child)) std::visit(execution, step);
  return fresh;
}

}  // namespace skyline::train
