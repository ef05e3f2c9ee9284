#pragma once

#include "skyline/store/importer.hpp"

#include <memory>

namespace skyline::store {

// The importers that are part of Skyline.

std::shared_ptr<const Importer> images_importer();
std::shared_ptr<const Importer> arrays_importer();
std::shared_ptr<const Importer> digits_importer();
std::shared_ptr<const Importer> mnist_importer();
std::shared_ptr<const Importer> fashion_mnist_importer();
std::shared_ptr<const Importer> cifar10_importer();
std::shared_ptr<const Importer> cifar100_importer();

}  // namespace skyline::store
