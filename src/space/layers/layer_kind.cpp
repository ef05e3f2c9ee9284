#include "skyline/space/layer_kind.hpp"

#include "skyline/core/error.hpp"

#include "space/layers/layers.hpp"

#include <map>
#include <mutex>

namespace skyline::space {
namespace {

// Kinds are registered by name here and not by static objects, which a static library would drop.
class Registry {
 public:
  Registry() {
    add(make_batch_norm());
    add(make_conv2d());
    add(make_dropout());
    add(make_flatten());
    add(make_global_average_pool());
    add(make_linear());
    add(make_max_pool());
    add(make_relu());
  }

  void add(std::unique_ptr<LayerKind> kind) {
    const std::lock_guard lock(mutex_);
    const std::string name(kind->name());
    if (!kinds_.emplace(name, std::move(kind)).second)
      throw InternalError("layer kind registered twice: " + name);
  }

  const LayerKind* find(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    const auto entry = kinds_.find(name);
    return entry == kinds_.end() ? nullptr : entry->second.get();
  }

  std::vector<std::string> names() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> result;
    for (const auto& [name, kind] : kinds_) result.push_back(name);
    return result;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<LayerKind>, std::less<>> kinds_;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

void register_layer_kind(std::unique_ptr<LayerKind> kind) {
  registry().add(std::move(kind));
}

const LayerKind* find_layer_kind(std::string_view name) {
  return registry().find(name);
}

std::vector<std::string> layer_kind_names() {
  return registry().names();
}

}  // namespace skyline::space
