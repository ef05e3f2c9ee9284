#pragma once

#include "skyline/store/dataset.hpp"

#include <filesystem>

namespace skyline::store {

// Published data sets, read from the published files, which the user provides.
// @throws UserError naming file, expected and found (wrong IDX magic, truncated file, labels out of range)

/// Four IDX files, with or without .gz.
DatasetContents import_mnist(const std::filesystem::path& folder);
DatasetContents import_fashion_mnist(const std::filesystem::path& folder);
/// The binary versions: data_batch_{1..5}.bin and test_batch.bin; train.bin and test.bin.
DatasetContents import_cifar10(const std::filesystem::path& folder);
DatasetContents import_cifar100(const std::filesystem::path& folder);
/// CSV (.gz or plain): 64 pixels 0..16, then the label. The last fifth of every class becomes the test set.
DatasetContents import_digits(const std::filesystem::path& file);

}  // namespace skyline::store
