#include "skyline/space/layer_kind.hpp"

#include "core/registry.hpp"
#include "space/layers/layers.hpp"

#include <utility>

namespace skyline::space {
namespace {

using Kinds = Registry<std::unique_ptr<LayerKind>>;

Kinds& registry() {
  static Kinds kinds("layer kind", [](Kinds& built_in) {
    for (const auto make : {make_batch_norm, make_conv2d, make_dropout, make_flatten,
                            make_global_average_pool, make_linear, make_max_pool, make_relu}) {
      std::unique_ptr<LayerKind> kind = make();
      const std::string name(kind->name());
      built_in.add(name, std::move(kind));
    }
  });
  return kinds;
}

}  // namespace

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

}  // namespace skyline::space
