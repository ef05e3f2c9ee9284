#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace skyline::store {

/// A number with the name under which it is shown.
struct NamedValue {
  std::string name;
  double value = 0;
  bool operator==(const NamedValue&) const = default;
};

/// The values after a step of a run. The step is the position of a commit.
struct MetricRecord {
  std::uint64_t step = 0;
  double unix_s = 0;  // time of the step, seconds since 1970
  std::vector<NamedValue> values;
};

/// The records that an event file begins with: its version, and the start of a session at `first_step`.
/// Readers drop records of older files for that step and later ones.
std::string event_file_start(double unix_s, std::uint64_t first_step);
/// Makes one record of a step's values.
std::string event_record(const MetricRecord& record);

/// One of TensorBoard's event files: TFRecords (length, masked CRC-32C, an Event message, its CRC), each step
/// in one record, so that a killed job leaves all values of a step or none. One thread at a time.
/// @see tensorboard/compat/proto/event.proto, summary.proto
class EventFile {
 public:
  /// Names a new file of this process.
  /// @param folder   must exist
  /// @param begun_s  seconds since 1970, part of the name: readers take the files in the order of their names
  EventFile(const std::filesystem::path& folder, double begun_s);
  const std::filesystem::path& path() const { return path_; }

  /// The first call publishes a whole file, later ones append. Values are rounded to 32 bits. After an error
  /// the same records can be added again: they go to the same place.
  /// @throws UserError naming the file and the system's reason, at once
  void add(std::span<const MetricRecord> records);

 private:
  std::filesystem::path path_;
  double begun_s_;
  std::uint64_t length_ = 0;  // 0: not published yet
};

/// Whether an earlier job left event files of this program in the folder. @throws UserError
bool has_event_files(const std::filesystem::path& folder);

}  // namespace skyline::store
