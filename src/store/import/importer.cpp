#include "skyline/store/importer.hpp"

#include "core/registry.hpp"
#include "store/import/built_in.hpp"

#include <utility>

namespace skyline::store {
namespace {

using Importers = Registry<std::shared_ptr<const Importer>>;

Importers& importers() {
  static Importers registry("importer", [](Importers& built_in) {
    built_in.add("images", images_importer());
    built_in.add("arrays", arrays_importer());
    built_in.add("digits", digits_importer());
    built_in.add("mnist", mnist_importer());
    built_in.add("fashion_mnist", fashion_mnist_importer());
    built_in.add("cifar10", cifar10_importer());
    built_in.add("cifar100", cifar100_importer());
  });
  return registry;
}

}  // namespace

void register_importer(std::string_view name, std::shared_ptr<const Importer> importer) {
  importers().add(name, std::move(importer));
}

std::shared_ptr<const Importer> find_importer(std::string_view name) {
  const auto* const found = importers().find(name);
  return found == nullptr ? nullptr : *found;
}

std::vector<std::string> importer_names() {
  return importers().names();
}

}  // namespace skyline::store
