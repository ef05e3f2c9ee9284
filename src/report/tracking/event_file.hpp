#pragma once

#include "skyline/space/genotype.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace skyline::report {

/// A number with the name under which it is shown.
struct NamedValue {
  std::string name;
  double value = 0;
  bool operator==(const NamedValue&) const = default;
};

/// The values after a step of a run. A step is the position of a commit.
struct MetricRecord {
  std::uint64_t step = 0;
  double unix_s = 0;  // time of the step, seconds since 1970
  std::vector<NamedValue> values;
};

/// A parameter's value, with its name.
struct NamedParameter {
  std::string name;
  space::Value value;
};

/// Returns the first records of an event file: its version, and the start of a session at `first_step`.
/// Readers drop records of older files for this and later steps.
std::string event_file_start(double unix_s, std::uint64_t first_step);
/// Makes one record of a step's values.
std::string event_record(const MetricRecord& record);
/// Makes the record that gives a folder of event files a row of the tab HParams.
/// @see tensorboard/plugins/hparams/plugin_data.proto, google/protobuf/struct.proto
std::string parameters_record(double unix_s, std::span<const NamedParameter> parameters);

/// One of TensorBoard's event files: TFRecords (length, masked CRC-32C, an Event message, its CRC). Each step
/// is one record, so that a killed job leaves all values of a step or none. One thread at a time may use it.
/// @see tensorboard/compat/proto/event.proto, summary.proto
class EventFile {
 public:
  /// Names a new file of this process.
  /// @param folder   must exist
  /// @param begun_s  seconds since 1970, part of the name: readers sort the files by name
  EventFile(const std::filesystem::path& folder, double begun_s);
  const std::filesystem::path& path() const { return path_; }

  /// Publishes a whole file at the first call, and appends later. Values are rounded to 32 bits. After an
  /// error the same records can be added again: they are written at the same place.
  /// @throws UserError with the file and the system's reason, without retrying
  void add(std::span<const MetricRecord> records);

 private:
  std::filesystem::path path_;
  double begun_s_;
  std::uint64_t length_ = 0;  // 0 until the file is published
};

/// Returns the first step that the event files of this program in a folder lack: that after their last whole
/// record. Returns 0 if there are none. @throws UserError if a file cannot be read
std::uint64_t first_step_without_event(const std::filesystem::path& folder);

}  // namespace skyline::report
