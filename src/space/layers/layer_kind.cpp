#include "skyline/space/layer_kind.hpp"

#include "core/registry.hpp"
#include "space/layers/layers.hpp"

#include <algorithm>
#include <utility>

namespace skyline::space {
namespace {

using Kinds = Registry<std::unique_ptr<LayerKind>>;

Kinds& registry() {
  static Kinds kinds("layer kind", [](Kinds& built_in) {
    for (const auto make : {make_add, make_batch_norm, make_concat, make_conv2d, make_dropout, make_flatten,
                            make_global_average_pool, make_linear, make_max_pool, make_multiply, make_relu}) {
      std::unique_ptr<LayerKind> kind = make();
      const std::string name(kind->name());
      built_in.add(name, std::move(kind));
    }
  });
  return kinds;
}

/// A guess by shapes, for kinds that do not say it.
Traits traits_by_shape(const Layer& layer) {
  const bool keeps =
      layer.input_shapes.size() == 1 && layer.input() == layer.output &&
      std::ranges::all_of(layer.tensors, [](const TensorSpec& tensor) { return tensor.dims.size() == 1; });
  return {.features = keeps ? Features::kKept : Features::kNew};
}

}  // namespace

Traits LayerKind::traits(const Layer& layer) const {
  return traits_by_shape(layer);
}

Traits traits_of(const Layer& layer) {
  const LayerKind* kind = find_layer_kind(layer.kind);
  return kind == nullptr ? traits_by_shape(layer) : kind->traits(layer);
}

void register_layer_kind(std::unique_ptr<LayerKind> kind) {
  const std::string name(kind->name());
  registry().add(name, std::move(kind));
}

const LayerKind* find_layer_kind(std::string_view name) {
  const auto* kind = registry().find(name);
  return kind == nullptr ? nullptr : kind->get();
}

std::vector<std::string> layer_kind_names() {
  return registry().names();
}

std::int64_t sliding_output(std::int64_t input, std::int64_t kernel, std::int64_t stride,
                            std::int64_t padding) {
  return (input + 2 * padding - kernel) / stride + 1;
}

std::int64_t bounded_product(AttributeReader& reader, std::initializer_list<std::int64_t> factors) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 48;
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    const bool overflow = __builtin_mul_overflow(product, factor, &product);
    if (overflow || product > kLargest) reader.fail("the layer is too large");
  }
  return product;
}

}  // namespace skyline::space
