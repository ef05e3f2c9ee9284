#pragma once

#include "train/train_fixtures.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

/// Networks with branches, until the configuration can describe them.
namespace skyline::train::test {

using space::Network;
using space::Shape;

/// Adds two convolutions with norms around which the block's input goes. @return  the index of its end
inline std::size_t add_residual_block(NetworkBuilder& builder, std::size_t input, std::int64_t channels) {
  builder.reading({input}).conv2d(channels, 3, 1, false).batch_norm().relu();
  const std::size_t branch = builder.conv2d(channels, 3, 1, false).batch_norm().last();
  return builder.merge("add", {input, branch}).relu().last();
}

/// A stem, two residual blocks with a pooling between them, and a gate per channel (squeeze and excitation).
inline Network residual_network(const Shape& input, std::int64_t channels, std::int64_t classes,
                                int blocks = 2) {
  NetworkBuilder builder(input);
  std::size_t end = builder.conv2d(channels, 3).batch_norm().relu().last();
  for (int i = 0; i < blocks; ++i) end = add_residual_block(builder, end, channels);
  const std::size_t gate = builder.reading({end}).global_average_pool().linear(channels).relu().last();
  return builder.merge("multiply", {end, gate}).global_average_pool().linear(classes).build();
}

/// Nodes of a cell of NAS-Bench-201 with the operations none, skip, 1x1, 3x3 and pooling on its six edges.
inline Network nas_bench_cell(const Shape& input, std::int64_t channels, std::int64_t classes) {
  NetworkBuilder builder(input);
  const auto convolution = [&](std::size_t from, std::int64_t kernel) {
    return builder.reading({from}).relu().conv2d(channels, kernel, 1, false).batch_norm().last();
  };
  const std::size_t first = builder.conv2d(channels, 3, 1, false).batch_norm().last();
  const std::size_t second = convolution(first, 3);
  convolution(second, 1);  // an edge into a node that is left out: a dead branch with a norm
  const std::size_t third = builder.merge("add", {first, convolution(second, 1)}).last();
  const std::size_t sum = builder.merge("add", {first, convolution(second, 3), third}).last();
  const std::size_t joined = builder.merge("concat", {sum, second}).last();
  return builder.reading({joined}).batch_norm().relu().global_average_pool().linear(classes).build();
}

/// Draws networks of up to 14 layers in which any layer may read any earlier one that fits.
class RandomNetworks {
 public:
  explicit RandomNetworks(std::uint64_t seed) : random_(seed) {}

  Network draw() {
    const auto side = static_cast<std::int64_t>(4 + random_.below(4));
    NetworkBuilder builder({static_cast<std::int64_t>(1 + random_.below(3)), side, side});
    builder.conv2d(channels(), 3);
    const std::uint64_t layers = 3 + random_.below(9);
    for (std::uint64_t i = 0; i < layers; ++i) add_layer(builder);
    const std::size_t end = builder.reading({pick(builder)}).global_average_pool().last();
    const std::size_t other = builder.reading({pick(builder)}).global_average_pool().last();
    return builder.merge("concat", {end, other}).linear(4).build();
  }

 private:
  std::int64_t channels() { return static_cast<std::int64_t>(2 + random_.below(6)); }
  std::size_t pick(const NetworkBuilder& builder) { return random_.below(builder.last() + 1); }

  /// Another layer whose output a merge with `first` takes, or `first` itself.
  template <typename Fits>
  std::size_t partner(const NetworkBuilder& builder, std::size_t first, const Fits& fits) {
    std::vector<std::size_t> found;
    for (std::size_t layer = 0; layer <= builder.last(); ++layer) {
      if (fits(builder.shape_of(layer), builder.shape_of(first))) found.push_back(layer);
    }
    return found[random_.below(found.size())];
  }

  void add_layer(NetworkBuilder& builder) {
    const std::size_t source = pick(builder);
    const Shape shape = builder.shape_of(source);
    switch (random_.below(8)) {
      case 0:
        builder.reading({source}).conv2d(channels(), random_.below(2) == 0 ? 1 : 3);
        return;
      case 1:
        builder.reading({source}).batch_norm();
        return;
      case 2:
        builder.reading({source}).conv2d(channels(), 3, 1, false).batch_norm().relu();
        return;
      case 3:
        builder.reading({source}).dropout(0.2);
        return;
      case 4:
        if (shape.height > 3) builder.reading({source}).max_pool(2);
        return;
      case 5:
        builder.merge(
            "add", {source, partner(builder, source, [](const Shape& a, const Shape& b) { return a == b; })});
        return;
      case 6:
        builder.merge("concat", {source, partner(builder, source, [](const Shape& a, const Shape& b) {
                                   return a.height == b.height && a.width == b.width;
                                 })});
        return;
      default:
        builder.merge("multiply", {source, partner(builder, source, [](const Shape& a, const Shape& b) {
                                     return a == b || a == Shape{b.channels, 1, 1};
                                   })});
    }
  }

  RandomStream random_;
};

}  // namespace skyline::train::test
