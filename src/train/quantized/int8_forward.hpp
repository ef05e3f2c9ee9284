#pragma once

#include "skyline/space/network.hpp"

#include "space/quantized/int8_network.hpp"
#include "train/quantized/real_steps.hpp"

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// The forward pass of an int8 network on the CPU. A tensor with a grid holds whole numbers above the grid's
/// zero, in float32. Outputs have the same bits for any batch and number of threads: sums of products are
/// exact. One thread uses it, without autograd.
class Int8Forward {
 public:
  /// All arguments must outlive the object.
  Int8Forward(const space::Int8Network& network, const RealSteps& real);
  /// Reads the weights of a step again. @pre the step is of kConvolution
  void prepare_products(std::size_t step);

  /// Returns the outputs of the network, float32 [samples, outputs].
  /// @param images  float32 [samples, channels, height, width], normalized
  at::Tensor run(const at::Tensor& images) const;

  /// Returns real values as numbers of a tensor's grid; unchanged for a tensor without one.
  at::Tensor to_numbers(space::Int8Tensor tensor, const at::Tensor& values) const;
  /// Returns the real values of a tensor's numbers.
  at::Tensor to_values(space::Int8Tensor tensor, const at::Tensor& numbers) const;
  /// Returns the numbers of a step's output, given those of its inputs.
  at::Tensor compute(std::size_t step, const Activations& inputs, std::int64_t samples) const;

 private:
  struct Products {
    at::Tensor weight;  // float32, or float64 if sums may not be exact in float32
    at::Tensor bias;
    at::Tensor factor;  // float32 [1, outputs, 1, 1]: from whole numbers to steps of the output's grid
  };

  at::Tensor limited(const space::Int8Step& step, const at::Tensor& steps_of_grid) const;
  at::Tensor table_of(const space::Int8Step& step) const;
  at::Tensor multiply(std::size_t index, const at::Tensor& input) const;
  at::Tensor compute_real(const space::Int8Step& step, const Activations& inputs, std::int64_t samples) const;

  const space::Int8Network& network_;
  const RealSteps& real_;
  std::vector<Products> products_;  // one for each step; undefined but for kConvolution
  std::vector<at::Tensor> tables_;  // output of each step for each number; undefined if it has none
  std::vector<std::size_t> last_readers_;
};

}  // namespace skyline::train
