#pragma once

#include "skyline/space/network.hpp"

#include "train/device/accelerator.hpp"
#include "train/options/training_options.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/MemoryFormat.h>

namespace skyline::train {

/// A member's view of its group for training.
struct GroupMembership {
  DeviceReducer* reducer = nullptr;  // nullptr if there is no group
  std::size_t members = 1;
  std::size_t member = 0;
  GroupOptions options = {};
  bool is_sharded() const { return options.sharding != GroupOptions::Sharding::kNone; }
};

/// Returns whether the CPU computes the products of a convolution or linear layer faster in bfloat16, by a
/// rule of shapes. For smaller layers casts and fixed costs outweigh the gain, and grouped convolutions with
/// few channels per group may be slower by half.
inline bool pays_in_bfloat16(const space::Layer& layer) {
  constexpr std::int64_t kLeastChannels = 16;
  constexpr std::int64_t kLeastProducts = std::int64_t{1} << 18;  // products per sample
  const space::TensorSpec& weight = layer.tensors.front();        // [outputs, inputs, ...]
  const bool grouped = weight.dims[1] < layer.input().channels;
  return weight.dims[0] >= kLeastChannels && (!grouped || weight.dims[1] >= kLeastChannels) &&
         weight.elements() * layer.output.height * layer.output.width >= kLeastProducts;
}

/// Returns the tensor to multiply with. If the processor has no instructions for bfloat16 it is a float32
/// copy, because LibTorch's own loops for bfloat16 are some 20 times slower than oneDNN's kernels. Products
/// of bfloat16 numbers are exact in float32, so only the order of the sums differs. The caller rounds the
/// result to bfloat16.
inline at::Tensor as_factor(const at::Tensor& tensor) {
#ifdef __x86_64__
  static const bool has_instructions =
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  const bool is_slow = !has_instructions && tensor.scalar_type() == at::kBFloat16 && tensor.is_cpu();
  if (is_slow) return tensor.to(at::kFloat);
#endif
  return tensor;
}

/// Returns the order of activations in memory. cuDNN multiplies float32 in planes and would convert each
/// channels_last tensor before and after; tf32 and bfloat16 it multiplies in channels_last, and so do kernels
/// of our own.
inline at::MemoryFormat order_of_activations(Kernels kernels, Precision precision) {
  return kernels == Kernels::kAten && precision == Precision::kFp32 ? at::MemoryFormat::Contiguous
                                                                    : at::MemoryFormat::ChannelsLast;
}

/// The settings that the ops of a network share. The ops keep a reference to it.
struct DevicePlace {
  Accelerator* accelerator = nullptr;
  bool bfloat16 = false;  // use bfloat16 for products if that pays; all else stays float32
  at::MemoryFormat order = at::MemoryFormat::ChannelsLast;  // memory format of activations
  const GroupMembership* synchronized = nullptr;  // members that merge batch statistics; nullptr: none
  std::vector<std::string> drawing_layers = {};   // filled in by the graph

  // Values of the current step.
  at::Tensor seeds = {};          // int64 [drawing_layers], on the device
  std::int64_t first_sample = 0;  // place in the batch of the member's first sample
  std::int64_t batch = 0;         // number of samples of all members

  /// Returns the tensor itself if it is dense and in the order of activations, else a copy that is. With one
  /// channel or pixel it is in both orders; then its strides are made to say that it is in planes, because
  /// cuDNN goes by them.
  at::Tensor arranged(const at::Tensor& tensor) const {
    const at::Tensor dense = tensor.contiguous(order);
    if (order != at::MemoryFormat::Contiguous || dense.dim() != 4) return dense;
    const std::int64_t pixels = dense.size(2) * dense.size(3);
    return dense.as_strided(dense.sizes(), {dense.size(1) * pixels, pixels, dense.size(3), 1});
  }
  bool has_own_kernels() const { return accelerator->kernels() == Kernels::kOwn; }
  /// Returns the type in which a convolution or linear layer multiplies.
  at::ScalarType type_of_products(const space::Layer& layer) const {
    return bfloat16 && (!has_own_kernels() || pays_in_bfloat16(layer)) ? at::kBFloat16 : at::kFloat;
  }
};

}  // namespace skyline::train
