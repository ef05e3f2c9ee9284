#pragma once

#include "skyline/space/network.hpp"
#include "skyline/train/layer_op.hpp"
#include "skyline/trial/evaluator.hpp"

#include "train/parameters/filter_order.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/MemoryFormat.h>

namespace skyline::train {

/// A parameter or buffer of a layer at run time.
struct StoredTensor {
  std::string name;  // name within the layer
  bool trainable = true;
  at::Tensor value;         // 4-D tensors are in channels_last order, unless move_to() puts them in planes
  at::Tensor gradient;      // set by the op
  bool is_weight = true;    // true for a matrix or filter outside of layers that normalize
  at::Tensor earlier = {};  // sum of the gradients of the batch's earlier parts, during a later one
};

/// Reorders a gradient's memory like that of its parameter.
void order_like_parameter(at::Tensor& gradient);
/// Returns the gradient by a parameter in the order of the parameter's memory, [elements].
at::Tensor in_memory_order(const at::Tensor& gradient, const at::Tensor& parameter);

/// @param first  place of the tensor in an array
/// @pre the tensor has four dimensions
FilterPlace filter_at(std::size_t first, const at::Tensor& tensor);

class StoredLayer final : public LayerTensors {
 public:
  at::Tensor& value(std::string_view name) override { return at(name).value; }
  at::Tensor& gradient(std::string_view name) override { return at(name).gradient; }
  bool has(std::string_view name) const override;
  std::vector<StoredTensor>& tensors() { return tensors_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }

 private:
  StoredTensor& at(std::string_view name);
  std::vector<StoredTensor> tensors_;
};

/// All tensors of a network, with initial values, in one block of memory.
class ParameterStore {
 public:
  /// Draws the initial values from `seed` alone: the same bits on every machine.
  ParameterStore(const space::Network& network, std::uint64_t seed);

  StoredLayer& layer(std::size_t index) { return layers_[index]; }
  std::deque<StoredLayer>& layers() { return layers_; }
  /// Moves all tensors to a device, into the order of its activations. Afterwards they must only be used
  /// there, and memory() must not be called.
  void move_to(const c10::Device& device, at::MemoryFormat order);
  /// Returns the memory of all tensors, in the order of the network, each padded with zeros to a cache line.
  const at::Tensor& block() const { return memory_; }
  std::span<float> memory();
  std::span<const float> memory() const;
  /// Returns the places in the block of filters, the tensors whose memory move_to() may reorder.
  std::vector<FilterPlace> filters() const;
  /// Returns the position in memory() of a tensor of this store, a multiple of a cache line.
  std::size_t offset_of(const StoredTensor& tensor) const;
  /// Returns copies of all tensors, "<layer>.<tensor>", row-major.
  std::vector<trial::NamedTensor> export_tensors() const;
  /// Sets the values, in the order and shapes of export_tensors.
  void import_tensors(const std::vector<trial::NamedTensor>& tensors);

 private:
  void put_in_planes();

  at::Tensor memory_;
  std::vector<std::string> layer_names_;
  std::deque<StoredLayer> layers_;  // a deque, so that the references of ops stay valid
};

}  // namespace skyline::train
