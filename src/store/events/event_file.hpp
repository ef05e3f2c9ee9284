#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// A number under the name that it is shown by.
struct NamedValue {
  std::string name;
  double value = 0;
  bool operator==(const NamedValue&) const = default;
};

/// What is known after a step of a run. The step is a trial's number.
struct MetricRecord {
  std::uint64_t step = 0;
  double unix_s = 0;  // when it was so, seconds since 1970
  std::vector<NamedValue> values;
};

/// TensorBoard's event files of a run: TFRecords (length, masked CRC-32C, an Event message, its CRC), a step
/// in one record, so that a killed job leaves all values of a step or none. One thread at a time.
/// @see tensorboard/compat/proto/event.proto, summary.proto
class EventFile {
 public:
  /// A file of this process that is not there yet.
  /// @param folder   must exist
  /// @param begun_s  seconds since 1970, part of the name: readers go by it
  EventFile(const std::filesystem::path& folder, double begun_s);
  const std::filesystem::path& path() const { return path_; }

  /// Keeps records for the next `add`, which writes them first.
  void hold(std::span<const MetricRecord> records);
  /// The first call publishes a whole file, later ones append. Values are rounded to 32 bits. After an error
  /// the same records can be given again: they go to the same place.
  /// @throws UserError naming the file and the system's reason, at once
  void add(std::span<const MetricRecord> records);
  /// Removes the other event files of this program in the folder: those of earlier jobs, whose steps are in
  /// this one. @throws UserError
  void remove_others() const;

 private:
  std::filesystem::path path_;
  double begun_s_;
  std::string held_;          // records, as bytes
  std::uint64_t length_ = 0;  // 0: not published yet
};

/// What event files say of a step.
struct RecordedStep {
  double unix_s = 0;            // seconds since 1970
  std::optional<double> value;  // of the name that was asked for
};
/// The steps that the event files of this program in `folder` hold; of several that hold one, the newest
/// counts. What stands behind damage in a file, and a file or folder that cannot be read, count as nothing.
std::map<std::uint64_t, RecordedStep> recorded_steps(const std::filesystem::path& folder,
                                                     std::string_view name);

}  // namespace skyline::store
