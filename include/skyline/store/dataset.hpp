#pragma once

#include "skyline/space/search_space.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace skyline::store {

/// Images and labels of one part (train or test), before they are written to a file.
struct ImageSet {
  std::vector<std::uint8_t> images;  // [count, channels, height, width]
  std::vector<std::int32_t> labels;  // [count], 0 to classes - 1
};

struct DatasetContents {
  space::Shape shape;
  std::vector<std::string> class_names;
  ImageSet train;
  ImageSet test;
  std::string source;        // origin and terms, for people
  double value_scale = 255;  // largest pixel value: 255, or 16 for the UCI digits
};

/// Writes the HDF5 layout of docs/internals/files.md (contiguous uint8 images and int32 labels for train and
/// test, class names, per-channel mean and deviation of train after division by value_scale, source, SHA-256
/// of each array), published whole. @throws UserError
void write_dataset(const std::filesystem::path& path, const DatasetContents& contents);

/// A part of a data set: images are mapped read-only, so that the ranks of a node share one copy in memory.
struct MappedImages {
  std::span<const std::uint8_t> images;  // [count, channels, height, width]
  std::span<const std::int32_t> labels;  // [count]
  std::size_t count() const { return labels.size(); }
};

/// A data set file, open and mapped. Immutable, shared by all threads. Reading images of a file that was
/// truncated meanwhile ends the process with one line and kExitUserError.
class Dataset {
 public:
  /// @param verify  recompute the checksums, which reads the whole file (one rank per node does)
  /// @param stop_requested  called now and then meanwhile. @return  null if it returned true
  /// @throws UserError: missing, truncated, not HDF5, not ours, damaged
  static std::shared_ptr<const Dataset> open(
      const std::filesystem::path& path, bool verify,
      const std::function<bool()>& stop_requested = [] { return false; });
  virtual ~Dataset() = default;

  virtual const space::Shape& shape() const = 0;
  virtual const std::vector<std::string>& class_names() const = 0;
  virtual const std::vector<double>& mean() const = 0;       // [channels], of images / value_scale
  virtual const std::vector<double>& deviation() const = 0;  // [channels]
  virtual double value_scale() const = 0;
  virtual const MappedImages& train() const = 0;
  virtual const MappedImages& test() const = 0;
  virtual const std::string& content_hash() const = 0;  // SHA-256: the same for the same contents
  /// Checks that the file still holds what was opened; quick, unless somebody touched it. Thread-safe.
  /// @throws UserError if it was overwritten in place. A file that took its name meanwhile does not matter.
  virtual void check_unchanged() const {}
};

/// The training set's indices in two disjoint, complete parts, ascending. Stratified: each class gives the
/// same share, rounded so that the total is round(fraction * n). Seeded.
struct SplitIndices {
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> validation;
  std::vector<std::int64_t> scored = {};  // part of `validation` for trials of the search; empty: all of it
};
/// @param fraction  in [0, 1); @throws UserError if a part would be empty although fraction > 0
SplitIndices stratified_split(std::span<const std::int32_t> labels, double fraction, std::uint64_t seed);

/// `count` of the indices, or all if there are fewer, ascending. Stratified: of each class nearly the same
/// share. Nested: a larger count holds the parts of smaller ones. Seeded.
std::vector<std::int64_t> stratified_part(std::span<const std::int32_t> labels,
                                          std::span<const std::int64_t> indices, std::size_t count,
                                          std::uint64_t seed);

/// Importers: read the files that the sets are published as. @throws UserError naming file, expected and
/// found (wrong IDX magic, truncated file, labels out of range, wrong row length)
DatasetContents import_mnist(const std::filesystem::path& folder);  // 4 IDX files, with or without .gz
DatasetContents import_cifar10(
    const std::filesystem::path& folder);  // binary version: data_batch_{1..5}.bin, test_batch.bin
/// CSV (.gz or plain): 64 pixels 0..16, then the label. The last fifth of every class becomes the test set.
DatasetContents import_digits(const std::filesystem::path& file);
/// Reads one folder per class, named after it, with binary PGM or PPM images of one size: those in `folder`,
/// where the last fifth of every class by name becomes the test set, or in train and test below it.
DatasetContents import_images(const std::filesystem::path& folder);

}  // namespace skyline::store
