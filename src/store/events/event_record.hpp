#pragma once

#include "store/events/event_file.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skyline::store {

/// The records that an event file begins with: its version, and that what other files of the folder say of
/// the steps from 0 on no longer counts.
std::string event_file_start(double unix_s);

/// A step's values as one record.
std::string event_record(const MetricRecord& record);

/// What is read back of a record.
struct EventMark {
  double unix_s = 0;
  std::optional<std::uint64_t> step;  // of a record with values
  std::string_view summary;           // its values, within the bytes
};
/// The next record; `bytes` then begins behind it. Nothing at the end and at damage.
std::optional<EventMark> take_event(std::string_view& bytes);
/// The value that the record has under this name.
std::optional<double> recorded_value(const EventMark& mark, std::string_view name);

}  // namespace skyline::store
