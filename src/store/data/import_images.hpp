#pragma once

#include "skyline/store/dataset.hpp"

#include <filesystem>

namespace skyline::store {

/// Reads one folder per class, named after it, with binary PGM or PPM images of one size: those in `folder`,
/// where the last fifth of every class by name becomes the test set, or in train and test below it.
/// @throws UserError naming the file, expected and found
DatasetContents import_images(const std::filesystem::path& folder);

}  // namespace skyline::store
