#include "train/parameters/parameter_store.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/space/layer_kind.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

namespace skyline::train {
namespace {

/// Tensors start at multiples of a cache line.
constexpr std::int64_t kElementsAligned = 16;

std::int64_t padded_elements(const space::TensorSpec& spec) {
  return (spec.elements() + kElementsAligned - 1) / kElementsAligned * kElementsAligned;
}

std::int64_t total_elements(const space::Network& network) {
  std::int64_t total = 0;
  for (const space::Layer& layer : network.layers) {
    for (const space::TensorSpec& spec : layer.tensors) total += padded_elements(spec);
  }
  return total;
}

/// Returns a view that shares memory but not autograd's count of changes, so that changing one tensor leaves
/// the others unchanged for autograd.
at::Tensor view_of(const at::Tensor& memory, std::int64_t offset, const space::TensorSpec& spec) {
  const at::Tensor piece = memory.narrow(0, offset, spec.elements());
  if (spec.dims.size() != 4) return piece.view(spec.dims).variable_data();
  const auto& d = spec.dims;
  return piece.view({d[0], d[2], d[3], d[1]}).permute({0, 3, 1, 2}).variable_data();
}

/// Draws floats uniform in [-bound, bound) on a grid of 2^24, two from each number of the stream.
class UniformFloats {
 public:
  UniformFloats(RandomStream& random, float bound) : random_(random), bound_(bound) {}

  float next() {
    if (!has_spare_) bits_ = random_.next();
    const auto draw = static_cast<std::uint32_t>(has_spare_ ? bits_ >> 40 : (bits_ >> 8) & 0xFFFFFFU);
    has_spare_ = !has_spare_;
    return (static_cast<float>(draw) * 0x1.0p-23F - 1.0F) * bound_;
  }

 private:
  RandomStream& random_;
  float bound_;
  std::uint64_t bits_ = 0;
  bool has_spare_ = false;
};

/// Draws in row-major order of `dims`, whatever the order in memory.
void fill_uniform(const space::TensorSpec& spec, float bound, RandomStream& random, float* values) {
  UniformFloats draws(random, bound);
  if (spec.dims.size() != 4) {
    std::generate(values, values + spec.elements(), [&] { return draws.next(); });
    return;
  }
  const std::int64_t inputs = spec.dims[1];
  const std::int64_t pixels = spec.dims[2] * spec.dims[3];
  for (std::int64_t out = 0; out < spec.dims[0]; ++out) {
    for (std::int64_t in = 0; in < inputs; ++in) {
      for (std::int64_t p = 0; p < pixels; ++p) values[(out * pixels + p) * inputs + in] = draws.next();
    }
  }
}

/// A sum of twelve uniform numbers has the variance 1. Unlike the usual ways to draw a normal number it needs
/// no function whose last bit may differ between machines.
void fill_narrow_normal(const space::TensorSpec& spec, RandomStream& random, float* values) {
  constexpr float kDeviation = 0.02F;
  require(spec.dims.size() != 4, "a filter that starts normally distributed");
  UniformFloats draws(random, 0.5F);
  std::generate(values, values + spec.elements(), [&] {
    float sum = 0;
    for (int i = 0; i < 12; ++i) sum += draws.next();
    return kDeviation * sum;
  });
}

void initialize(const space::TensorSpec& spec, RandomStream& random, float* values) {
  switch (spec.initializer) {
    case space::Initializer::kZeros:
      return;  // already in the order of memory
    case space::Initializer::kOnes:
      std::fill(values, values + spec.elements(), 1.0F);
      return;
    case space::Initializer::kQuarters:
      std::fill(values, values + spec.elements(), 0.25F);
      return;
    case space::Initializer::kKaimingUniform:
      fill_uniform(spec, 1.0F / std::sqrt(static_cast<float>(spec.fan_in)), random, values);
      return;
    case space::Initializer::kXavierUniform:
      fill_uniform(spec, std::sqrt(6.0F / static_cast<float>(spec.dims.at(0) + spec.dims.at(1))), random,
                   values);
      return;
    case space::Initializer::kNarrowNormal:
      fill_narrow_normal(spec, random, values);
      return;
  }
  throw InternalError("unknown initializer");
}

}  // namespace

void order_like_parameter(at::Tensor& gradient) {
  gradient = gradient.contiguous(gradient.dim() == 4 ? at::MemoryFormat::ChannelsLast
                                                     : at::MemoryFormat::Contiguous);
}

StoredTensor& StoredLayer::at(std::string_view name) {
  for (StoredTensor& tensor : tensors_) {
    if (tensor.name == name) return tensor;
  }
  throw InternalError("a layer has no tensor `" + std::string(name) + "`");
}

at::Tensor in_memory_order(const at::Tensor& gradient, const at::Tensor& parameter) {
  return (parameter.is_contiguous() ? gradient : gradient.permute({0, 2, 3, 1})).reshape({-1});
}

bool StoredLayer::has(std::string_view name) const {
  return std::ranges::find(tensors_, name, &StoredTensor::name) != tensors_.end();
}

ParameterStore::ParameterStore(const space::Network& network, std::uint64_t seed)
    : memory_(at::zeros({total_elements(network)}, at::kFloat)) {
  RandomStream random(derive_seed(seed, "weights"));
  std::int64_t offset = 0;
  for (const space::Layer& layer : network.layers) {
    layer_names_.push_back(layer.name);
    StoredLayer& stored = layers_.emplace_back();
    const bool normalizes = space::traits_of(layer).normalizes();
    for (const space::TensorSpec& spec : layer.tensors) {
      initialize(spec, random, memory_.mutable_data_ptr<float>() + offset);
      stored.tensors().push_back({spec.name, spec.trainable, view_of(memory_, offset, spec), at::Tensor(),
                                  spec.dims.size() > 1 && !normalizes});
      offset += padded_elements(spec);
    }
  }
}

FilterPlace filter_at(std::size_t first, const at::Tensor& tensor) {
  const auto size = [&tensor](std::int64_t dim) { return static_cast<std::size_t>(tensor.size(dim)); };
  return {first, size(0), size(1), size(2) * size(3)};
}

std::vector<FilterPlace> ParameterStore::filters() const {
  std::vector<FilterPlace> filters;
  for (const StoredLayer& layer : layers_) {
    for (const StoredTensor& tensor : layer.tensors()) {
      if (tensor.value.dim() != 4) continue;
      filters.push_back(filter_at(static_cast<std::size_t>(tensor.value.storage_offset()), tensor.value));
    }
  }
  return filters;
}

void ParameterStore::put_in_planes() {
  const at::Tensor planes = memory_.clone();
  for (StoredLayer& layer : layers_) {
    for (StoredTensor& tensor : layer.tensors()) {
      const at::Tensor piece = planes.narrow(0, tensor.value.storage_offset(), tensor.value.numel());
      const at::Tensor value = piece.view(tensor.value.sizes());
      tensor.value = value.copy_(tensor.value).variable_data();
    }
  }
  memory_ = planes;
}

void ParameterStore::move_to(const c10::Device& device, at::MemoryFormat order) {
  if (order == at::MemoryFormat::Contiguous) put_in_planes();
  const at::Tensor there = memory_.to(device);
  for (StoredLayer& layer : layers_) {
    for (StoredTensor& tensor : layer.tensors()) {
      tensor.value =
          there.as_strided(tensor.value.sizes(), tensor.value.strides(), tensor.value.storage_offset())
              .variable_data();
    }
  }
  memory_ = there;
}

std::span<float> ParameterStore::memory() {
  return {memory_.mutable_data_ptr<float>(), static_cast<std::size_t>(memory_.numel())};
}

std::span<const float> ParameterStore::memory() const {
  return {memory_.const_data_ptr<float>(), static_cast<std::size_t>(memory_.numel())};
}

std::size_t ParameterStore::offset_of(const StoredTensor& tensor) const {
  return static_cast<std::size_t>(tensor.value.const_data_ptr<float>() - memory_.const_data_ptr<float>());
}

std::vector<trial::NamedTensor> ParameterStore::export_tensors() const {
  std::vector<trial::NamedTensor> exported;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    for (const StoredTensor& tensor : layers_[i].tensors()) {
      const at::Tensor dense = tensor.value.detach().cpu().contiguous();
      const float* data = dense.const_data_ptr<float>();
      exported.push_back(
          {layer_names_[i] + "." + tensor.name, dense.sizes().vec(), {data, data + dense.numel()}});
    }
  }
  return exported;
}

void ParameterStore::import_tensors(const std::vector<trial::NamedTensor>& tensors) {
  const c10::InferenceMode no_autograd;
  auto source = tensors.begin();
  for (StoredLayer& layer : layers_) {
    for (StoredTensor& tensor : layer.tensors()) {
      require(source != tensors.end() && tensor.value.sizes() == source->dims,
              "tensors that are not those of the network");
      auto* const values = const_cast<float*>(source->values.data());  // it is only read
      tensor.value.copy_(at::from_blob(values, source->dims, at::kFloat));
      ++source;
    }
  }
  require(source == tensors.end(), "more tensors than the network has");
}

}  // namespace skyline::train
