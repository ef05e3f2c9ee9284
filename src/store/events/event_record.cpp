#include "store/events/event_record.hpp"

#include "core/text/hash.hpp"
#include "core/text/protobuf_writer.hpp"

#include <bit>

namespace skyline::store {
namespace {

// Numbers of fields in event.proto and summary.proto.
constexpr std::uint32_t kWallTime = 1;
constexpr std::uint32_t kStep = 2;
constexpr std::uint32_t kFileVersion = 3;
constexpr std::uint32_t kSummary = 5;
constexpr std::uint32_t kSessionLog = 7;
constexpr std::uint32_t kSummaryValue = 1;
constexpr std::uint32_t kTag = 1;
constexpr std::uint32_t kSimpleValue = 2;
constexpr std::uint32_t kSessionStatus = 1;
constexpr std::int64_t kSessionStart = 1;

constexpr std::string_view kVersion = "brain.Event:2";
constexpr std::size_t kHeaderBytes = 12;  // length and its checksum
constexpr std::size_t kSumBytes = 4;

/// TensorFlow stores a checksum turned and moved: that of data that holds checksums is then no trivial one.
std::uint32_t masked_crc(std::string_view bytes) {
  constexpr std::uint32_t kMove = 0xA282EAD8;
  return std::rotr(crc32c(bytes), 15) + kMove;
}

std::string framed(const ProtobufWriter& event) {
  std::string record;
  append_little_endian(record, std::uint64_t{event.bytes().size()});
  append_little_endian(record, masked_crc(record));
  record += event.bytes();
  append_little_endian(record, masked_crc(event.bytes()));
  return record;
}

template <typename Number>
Number little_endian(std::string_view bytes) {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value |= static_cast<Number>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; !bytes.empty() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) break;
  }
  return value;
}

/// A field that has a length; nothing if the next one is not of this number.
std::optional<std::string_view> take_field(std::string_view& bytes, std::uint32_t number) {
  if (bytes.empty() || bytes[0] != static_cast<char>(number << 3U | 2U)) return std::nullopt;
  bytes.remove_prefix(1);
  const std::uint64_t length = take_varint(bytes);
  if (length > bytes.size()) return std::nullopt;
  const std::string_view field = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return field;
}

/// Reads an event that event_record or event_file_start wrote: wall time, then, of a step, its number and
/// its values.
EventMark parse_event(std::string_view event) {
  EventMark mark;
  constexpr char kWallTimeTag = kWallTime << 3U | 1U;
  constexpr char kStepTag = kStep << 3U;
  if (event.size() < 9 || event[0] != kWallTimeTag) return mark;
  mark.unix_s = std::bit_cast<double>(little_endian<std::uint64_t>(event.substr(1, 8)));
  event.remove_prefix(9);
  if (event.empty() || event[0] != kStepTag) return mark;
  event.remove_prefix(1);
  mark.step = take_varint(event);
  mark.summary = take_field(event, kSummary).value_or(std::string_view());
  return mark;
}

}  // namespace

std::string event_file_start(double unix_s) {
  ProtobufWriter version;
  version.add_double(kWallTime, unix_s);
  version.add_text(kFileVersion, kVersion);
  ProtobufWriter status;
  status.add_integer(kSessionStatus, kSessionStart);
  ProtobufWriter session;
  session.add_double(kWallTime, unix_s);
  session.add_message(kSessionLog, status);
  return framed(version) + framed(session);
}

std::string event_record(const MetricRecord& record) {
  ProtobufWriter summary;
  for (const NamedValue& named : record.values) {
    ProtobufWriter value;
    value.add_text(kTag, named.name);
    value.add_float(kSimpleValue, static_cast<float>(named.value));
    summary.add_message(kSummaryValue, value);
  }
  ProtobufWriter event;
  event.add_double(kWallTime, record.unix_s);
  event.add_integer(kStep, static_cast<std::int64_t>(record.step));
  event.add_message(kSummary, summary);
  return framed(event);
}

std::optional<EventMark> take_event(std::string_view& bytes) {
  if (bytes.size() < kHeaderBytes + kSumBytes) return std::nullopt;
  const auto length = little_endian<std::uint64_t>(bytes);
  if (little_endian<std::uint32_t>(bytes.substr(8)) != masked_crc(bytes.substr(0, 8))) return std::nullopt;
  if (length > bytes.size() - kHeaderBytes - kSumBytes) return std::nullopt;
  const std::string_view event = bytes.substr(kHeaderBytes, length);
  if (little_endian<std::uint32_t>(bytes.substr(kHeaderBytes + length)) != masked_crc(event))
    return std::nullopt;
  bytes.remove_prefix(kHeaderBytes + length + kSumBytes);
  return parse_event(event);
}

std::optional<double> recorded_value(const EventMark& mark, std::string_view name) {
  constexpr char kNumberTag = kSimpleValue << 3U | 5U;
  std::string_view rest = mark.summary;
  while (auto value = take_field(rest, kSummaryValue)) {
    if (take_field(*value, kTag) != name || value->size() != 5 || value->front() != kNumberTag) continue;
    return std::bit_cast<float>(little_endian<std::uint32_t>(value->substr(1)));
  }
  return std::nullopt;
}

}  // namespace skyline::store
