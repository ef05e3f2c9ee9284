#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
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
  std::uint64_t length_ = 0;  // 0: not published yet
};

/// When each step was recorded by the event files of this program in `folder`, seconds since 1970. What
/// stands behind damage in a file, and a file or folder that cannot be read, count as nothing.
std::map<std::uint64_t, double> event_times(const std::filesystem::path& folder);

}  // namespace skyline::store
