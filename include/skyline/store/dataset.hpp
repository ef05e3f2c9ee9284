#pragma once

#include "skyline/space/search_space.hpp"

#include <array>
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

/// The meaning of a network's outputs for a sample. The order is that of Samples::targets.
enum class TargetKind : std::uint8_t {
  kClasses,  // exactly one of the classes
  kLabels,   // any number of labels, each of which applies or not
  kNumbers
};
/// "classes", "labels", "numbers"
std::string_view to_text(TargetKind kind);
/// "10 classes", "1 number"
std::string to_text(TargetKind kind, std::size_t outputs);

/// The parts of a data set, in the order in which they are stored.
enum class Part : std::uint8_t { kTrain, kValidation, kTest };
/// "train", "validation", "test"
const char* to_text(Part part);
inline constexpr std::array kAllParts{Part::kTrain, Part::kValidation, Part::kTest};

/// A view of samples that somebody else owns.
struct SampleView {
  std::variant<std::span<const std::uint8_t>, std::span<const float>> values;  // [count, channels, ...]
  std::variant<std::span<const std::int32_t>, std::span<const std::uint8_t>, std::span<const float>> targets;
  std::size_t count = 0;
  std::span<const std::int32_t> groups = {};  // [count], or empty: samples of one group share their number

  bool has_pixels() const { return values.index() == 0; }
  TargetKind target_kind() const { return static_cast<TargetKind>(targets.index()); }
  /// @pre has_pixels()
  std::span<const std::uint8_t> pixels() const { return std::get<0>(values); }
  /// @pre target_kind() is kClasses
  std::span<const std::int32_t> classes() const { return std::get<0>(targets); }
};

/// Samples in memory.
struct Samples {
  /// [count, channels, height, width]: pixels, or numbers that are finite. A sequence has height 1, a vector
  /// of features is all channels.
  std::variant<std::vector<std::uint8_t>, std::vector<float>> values = {};
  /// The targets: classes from 0, [count]; or 0 or 1 for each label, [count, outputs]; or finite numbers,
  /// [count, outputs].
  std::variant<std::vector<std::int32_t>, std::vector<std::uint8_t>, std::vector<float>> targets = {};
  /// Numbers of the samples' groups, [count], or empty. Samples of one group stay in one part when a
  /// validation set is held out. Only those of the training set are kept.
  std::vector<std::int32_t> groups = {};

  /// @pre the values are pixels
  std::vector<std::uint8_t>& pixels() { return std::get<0>(values); }
  const std::vector<std::uint8_t>& pixels() const { return std::get<0>(values); }
  /// @pre the targets are classes
  std::vector<std::int32_t>& classes() { return std::get<0>(targets); }
  const std::vector<std::int32_t>& classes() const { return std::get<0>(targets); }
  /// Returns a view, which is valid as long as this object is unchanged.
  /// @param outputs  number of outputs of the data set, above 0
  SampleView view(std::size_t outputs) const;
};

/// A data set file, open and mapped read-only, so that the ranks of a node share one copy in memory.
/// Immutable; any thread may use it. If the file was truncated meanwhile, reading its values ends the process
/// with one line and kExitUserError.
class Dataset {
 public:
  /// Opens a file. Returns nullptr if `stop_requested` returned true; it is called now and then.
  /// @param verify  whether to check all contents, as verify() does
  /// @throws UserError if the file is missing, truncated, not HDF5, not a data set, or damaged
  static std::shared_ptr<const Dataset> open(
      const std::filesystem::path& path, bool verify,
      const std::function<bool()>& stop_requested = [] { return false; });
  /// Returns whether a file should be opened as a data set: it has a seal of Skyline's, or is HDF5 and says
  /// that it has the layout. @throws UserError, FaultError if it cannot be read
  static bool recognizes(const std::filesystem::path& path);
  virtual ~Dataset() = default;

  /// Returns the shape of one sample.
  virtual const space::Shape& shape() const = 0;
  virtual const std::vector<std::string>& class_names() const = 0;  // names of the outputs
  virtual const std::vector<double>& mean() const = 0;       // [channels], mean of values / value_scale
  virtual const std::vector<double>& deviation() const = 0;  // [channels]
  virtual double value_scale() const = 0;                    // 1 unless the values are pixels
  /// Returns the samples of the training set. The view is valid as long as this object.
  virtual const SampleView& train() const = 0;
  virtual const SampleView& validation() const = 0;  // empty if a share of `train` is held out
  virtual const SampleView& test() const = 0;
  virtual const std::string& content_hash() const = 0;  // SHA-256, equal for equal contents
  /// Returns how rows of a table became samples, as JSON (docs/internals/files.md); empty for other sources.
  virtual std::string preparation() const { return {}; }
  /// Returns whether the training samples are in the order of time, so that the last ones are held out.
  virtual bool in_time_order() const { return false; }
  /// Recomputes the checksums and checks every value, which reads the whole file (one rank per node does).
  /// Ends early if `stop_requested` returned true; it is called now and then. @throws UserError if the file
  /// is damaged
  virtual void verify(const std::function<bool()>& /*stop_requested*/) const {}
  /// Checks that the file still has the contents that were opened. Quick, unless somebody touched it. A new
  /// file under its name does not matter. Thread-safe.
  /// @throws UserError if it was overwritten in place
  virtual void check_unchanged() const {}
};

/// Indices of the samples for training and of those that score a trial; all ascending.
struct SplitIndices {
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> validation;
  std::vector<std::int64_t> scored = {};  // part of `validation` for search trials; if empty, all of it
  bool stored = false;  // whether `validation` and `scored` index the stored validation part
};

/// Splits a data set into a part for training and one for validation: the stored validation part, unless a
/// share of the training set is asked for. Of samples in the order of time these are the last ones, and of
/// samples in groups whole groups; else the share is stratified.
/// @param share  share of the training set, in (0, 1); if not given, the stored part, or kHeldOutShare if
///               there is none
/// @param limit  most samples that score a trial of the search; all if not given
/// @throws UserError if a part would be empty, or there are too few groups
SplitIndices split_dataset(const Dataset& dataset, std::optional<double> share,
                           std::optional<std::size_t> limit, std::uint64_t seed);
constexpr double kHeldOutShare = 0.1;

/// Splits samples into two disjoint, complete parts. Stratified: each class gives the same share, rounded so
/// that the total is round(fraction * n). Samples with one common label are split without regard to it.
/// Deterministic for a seed.
/// @param fraction  in [0, 1)
/// @throws UserError if a part would be empty although fraction > 0
SplitIndices stratified_split(std::span<const std::int32_t> labels, double fraction, std::uint64_t seed);

/// Returns `count` of the indices, or all if there are fewer, ascending. Stratified: each class gives nearly
/// the same share. Nested: a larger part contains the smaller ones. Deterministic for a seed.
std::vector<std::int64_t> stratified_part(std::span<const std::int32_t> labels,
                                          std::span<const std::int64_t> indices, std::size_t count,
                                          std::uint64_t seed);

}  // namespace skyline::store
