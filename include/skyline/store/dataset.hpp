#pragma once

#include "skyline/space/search_space.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace skyline::store {

/// What the outputs of a network say of a sample. The order is that of Samples::targets.
enum class TargetKind : std::uint8_t {
  kClasses,  // which one of the classes it is
  kLabels,   // of each of some labels, whether it applies
  kNumbers
};
/// "classes", "labels", "numbers"
std::string_view to_text(TargetKind kind);
/// "10 classes", "1 number"
std::string to_text(TargetKind kind, std::size_t outputs);

/// Samples where somebody else keeps them.
struct SampleView {
  std::variant<std::span<const std::uint8_t>, std::span<const float>> values;  // [count, channels, ...]
  std::variant<std::span<const std::int32_t>, std::span<const std::uint8_t>, std::span<const float>> targets;
  std::size_t count = 0;

  bool has_pixels() const { return values.index() == 0; }
  TargetKind target_kind() const { return static_cast<TargetKind>(targets.index()); }
  /// @pre has_pixels()
  std::span<const std::uint8_t> pixels() const { return std::get<0>(values); }
  /// @pre target_kind() is kClasses
  std::span<const std::int32_t> classes() const { return std::get<0>(targets); }
};

/// The samples of one part of a data set, before they are written to a file. The parts of a set have values
/// and targets of the same types; an empty part has any.
struct Samples {
  /// [count, channels, height, width]: pixels, or numbers that are finite. A sequence has height 1, a vector
  /// of features is all channels.
  std::variant<std::vector<std::uint8_t>, std::vector<float>> values = {};
  /// By kind: classes, [count], from 0; or 0 or 1 for each label, [count, outputs]; or finite numbers,
  /// [count, outputs].
  std::variant<std::vector<std::int32_t>, std::vector<std::uint8_t>, std::vector<float>> targets = {};

  /// @pre the values are pixels
  std::vector<std::uint8_t>& pixels() { return std::get<0>(values); }
  const std::vector<std::uint8_t>& pixels() const { return std::get<0>(values); }
  /// @pre the targets are classes
  std::vector<std::int32_t>& classes() { return std::get<0>(targets); }
  const std::vector<std::int32_t>& classes() const { return std::get<0>(targets); }
  /// @param outputs  of the data set; above 0
  SampleView view(std::size_t outputs) const;
};

struct DatasetContents {
  space::Shape shape;
  std::vector<std::string> class_names;  // of the outputs: of classes, labels or numbers
  Samples train;
  Samples validation;  // empty: a share of train is held out
  Samples test;
  std::string source;        // origin and terms, for people
  double value_scale = 255;  // largest pixel value: 255, or 16 for the UCI digits; 1 where values are floats
};

/// Writes the HDF5 layout of docs/internals/files.md (contiguous values and targets of each part, class
/// names, per-channel mean and deviation of train after division by value_scale, source, SHA-256 of each
/// array), published whole. @throws UserError
void write_dataset(const std::filesystem::path& path, const DatasetContents& contents);

/// A data set file, open and mapped read-only, so that the ranks of a node share one copy in memory.
/// Immutable, shared by all threads. Reading values of a file that was truncated meanwhile ends the process
/// with one line and kExitUserError.
class Dataset {
 public:
  /// @param verify  recompute the checksums and check every value, which reads the whole file (one rank per
  /// node does)
  /// @param stop_requested  called now and then meanwhile. @return  null if it returned true
  /// @throws UserError: missing, truncated, not HDF5, not ours, damaged
  static std::shared_ptr<const Dataset> open(
      const std::filesystem::path& path, bool verify,
      const std::function<bool()>& stop_requested = [] { return false; });
  /// Whether a file is to be opened as a data set: with a seal of Skyline's, or HDF5 that says it has the
  /// layout. @throws UserError, FaultError if it cannot be read
  static bool recognizes(const std::filesystem::path& path);
  virtual ~Dataset() = default;

  virtual const space::Shape& shape() const = 0;
  virtual const std::vector<std::string>& class_names() const = 0;  // of the outputs
  virtual const std::vector<double>& mean() const = 0;              // [channels], of values / value_scale
  virtual const std::vector<double>& deviation() const = 0;         // [channels]
  virtual double value_scale() const = 0;                           // 1 unless the values are pixels
  virtual const SampleView& train() const = 0;
  virtual const SampleView& validation() const = 0;  // empty: a share of train is held out
  virtual const SampleView& test() const = 0;
  virtual const std::string& content_hash() const = 0;  // SHA-256: the same for the same contents
  /// Checks that the file still holds what was opened; quick, unless somebody touched it. Thread-safe.
  /// @throws UserError if it was overwritten in place. A file that took its name meanwhile does not matter.
  virtual void check_unchanged() const {}
};

/// Indices of the samples that are trained on and of those that score a trial.
struct SplitIndices {
  std::vector<std::int64_t> train;  // all indices ascend
  std::vector<std::int64_t> validation;
  std::vector<std::int64_t> scored = {};  // part of `validation` for trials of the search; empty: all of it
  bool stored = false;                    // `validation` and `scored` are of the stored validation part
};

/// The part of a data set that is stored for validation, unless a share of the training set is asked for.
/// @param share  of the training set, in (0, 1); nothing: the stored part, or kHeldOutShare if there is none
/// @param limit  most samples that score a trial of the search; nothing: all
/// @throws UserError if a part would be empty
SplitIndices split_dataset(const Dataset& dataset, std::optional<double> share,
                           std::optional<std::size_t> limit, std::uint64_t seed);
constexpr double kHeldOutShare = 0.1;

/// The indices of samples in two disjoint, complete parts. Stratified: each class gives the same share,
/// rounded so that the total is round(fraction * n). Seeded. Samples of one label are split plainly.
/// @param fraction  in [0, 1); @throws UserError if a part would be empty although fraction > 0
SplitIndices stratified_split(std::span<const std::int32_t> labels, double fraction, std::uint64_t seed);

/// `count` of the indices, or all if there are fewer, ascending. Stratified: of each class nearly the same
/// share. Nested: a larger count holds the parts of smaller ones. Seeded.
std::vector<std::int64_t> stratified_part(std::span<const std::int32_t> labels,
                                          std::span<const std::int64_t> indices, std::size_t count,
                                          std::uint64_t seed);

}  // namespace skyline::store
