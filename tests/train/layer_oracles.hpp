#pragma once

#include "skyline/core/random.hpp"
#include "skyline/space/network.hpp"

#include "support/map_reader.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

/// What the kinds of layer compute, written once more: in double precision, and other than in the ops.
namespace skyline::train::test {

using skyline::testing::AttributeValues;

struct DrawnLayer {
  AttributeValues attributes;
  std::vector<space::Shape> inputs;
};

struct LayerOracle {
  std::string kind;
  std::function<DrawnLayer(RandomStream& random)> draw;
  /// @param tensors  of the layer, by name, and "input"
  std::function<at::Tensor(const space::Layer& layer, const std::map<std::string, at::Tensor>& tensors)>
      define;
};

/// For every kind with one input that draws nothing and keeps nothing from step to step.
const std::vector<LayerOracle>& oracles();

}  // namespace skyline::train::test
