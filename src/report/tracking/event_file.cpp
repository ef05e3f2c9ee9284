#include "report/tracking/event_file.hpp"

#include "core/system/process.hpp"
#include "core/text/hash.hpp"
#include "core/text/protobuf_writer.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <optional>

#include <fcntl.h>
#include <unistd.h>

namespace skyline::report {
namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";  // readers recognize event files by this
constexpr std::string_view kSuffix = ".skyline";

// Field numbers of event.proto and summary.proto.
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
constexpr std::uint32_t kTensor = 8;
constexpr std::uint32_t kMetadata = 9;
constexpr std::uint32_t kPluginData = 1;
constexpr std::uint32_t kPluginName = 1;
constexpr std::uint32_t kPluginContent = 2;
// Field numbers of plugin_data.proto, struct.proto and tensor.proto.
constexpr std::uint32_t kSessionStartInfo = 3;
constexpr std::uint32_t kParameters = 1;
constexpr std::uint32_t kMapKey = 1;
constexpr std::uint32_t kMapValue = 2;
constexpr std::uint32_t kNumberValue = 2;
constexpr std::uint32_t kStringValue = 3;
constexpr std::uint32_t kBoolValue = 4;
constexpr std::uint32_t kTensorType = 1;
constexpr std::int64_t kFloats = 1;
constexpr std::uint32_t kTensorFloats = 5;

/// Masks a checksum as TensorFlow does (rotated, with an offset), since checksums of checksums are trivial.
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

/// Returns the number that the first bytes are.
template <typename Number>
Number little_endian(std::string_view bytes) {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    value |= Number{static_cast<unsigned char>(bytes[i])} << 8 * i;
  }
  return value;
}

/// Takes the next record off the bytes of a file. Returns nullopt if there is none that is whole and
/// undamaged.
std::optional<std::string_view> consume_record(std::string_view& bytes) {
  constexpr std::size_t kHeader = sizeof(std::uint64_t) + sizeof(std::uint32_t);
  if (bytes.size() < kHeader) return std::nullopt;
  const std::string_view length = bytes.substr(0, sizeof(std::uint64_t));
  const auto size = little_endian<std::uint64_t>(length);
  if (size > bytes.size() - kHeader || bytes.size() - kHeader - size < sizeof(std::uint32_t))
    return std::nullopt;
  const std::string_view event = bytes.substr(kHeader, size);
  if (masked_crc(length) != little_endian<std::uint32_t>(bytes.substr(length.size())) ||
      masked_crc(event) != little_endian<std::uint32_t>(bytes.substr(kHeader + size))) {
    return std::nullopt;
  }
  bytes.remove_prefix(kHeader + size + sizeof(std::uint32_t));
  return event;
}

/// Returns the step of an event that event_record() has made; nullopt for another one.
std::optional<std::uint64_t> step_of_values(std::string_view event) {
  constexpr char kTime = kWallTime << 3 | 1;  // field number and type: 64 bits
  constexpr char kPlace = kStep << 3;         // an integer of variable length
  constexpr char kValues = kSummary << 3 | 2;
  if (event.size() < 2 + sizeof(double) || event.front() != kTime) return std::nullopt;
  event.remove_prefix(1 + sizeof(double));
  std::uint64_t step = 0;
  if (event.front() == kPlace) {
    event.remove_prefix(1);
    bool more = true;
    for (int shift = 0; more && !event.empty() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(event.front());
      step |= std::uint64_t{byte & 0x7FU} << shift;
      more = byte >= 0x80;
      event.remove_prefix(1);
    }
  }
  return event.starts_with(kValues) ? std::optional(step) : std::nullopt;
}

/// Returns a message of struct.proto.
ProtobufWriter value_message(const space::Value& value) {
  ProtobufWriter message;
  if (const auto* flag = std::get_if<bool>(&value)) {
    message.add_integer(kBoolValue, *flag ? 1 : 0);
  } else if (std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value)) {
    message.add_double(kNumberValue, space::as_number(value));
  } else {
    message.add_text(kStringValue, space::to_text(value));
  }
  return message;
}

/// Returns a message whose only field is the other message.
ProtobufWriter wrapped(std::uint32_t field, const ProtobufWriter& message) {
  ProtobufWriter outer;
  outer.add_message(field, message);
  return outer;
}

/// Returns the file's name, with at least ten digits of time, so that names sort by time.
std::string file_name(double begun_s) {
  char seconds[24];
  std::snprintf(seconds, sizeof seconds, "%010" PRId64, static_cast<std::int64_t>(begun_s));
  return std::string(kPrefix) + seconds + "." + host_name() + "." + std::to_string(::getpid()) +
         std::string(kSuffix);
}

}  // namespace

std::string event_file_start(double unix_s, std::uint64_t first_step) {
  ProtobufWriter version;
  version.add_double(kWallTime, unix_s);
  version.add_text(kFileVersion, "brain.Event:2");
  ProtobufWriter status;
  status.add_integer(kSessionStatus, kSessionStart);
  ProtobufWriter session;
  session.add_double(kWallTime, unix_s);
  session.add_integer(kStep, static_cast<std::int64_t>(first_step));
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

std::string parameters_record(double unix_s, std::span<const NamedParameter> parameters) {
  ProtobufWriter start_info;
  for (const NamedParameter& parameter : parameters) {
    ProtobufWriter entry;
    entry.add_text(kMapKey, parameter.name);
    entry.add_message(kMapValue, value_message(parameter.value));
    start_info.add_message(kParameters, entry);
  }
  ProtobufWriter plugin;
  plugin.add_text(kPluginName, "hparams");
  plugin.add_message(kPluginContent, wrapped(kSessionStartInfo, start_info));
  ProtobufWriter zero;  // readers want a tensor, and take the parameters from the metadata
  zero.add_integer(kTensorType, kFloats);
  zero.add_text(kTensorFloats, std::string(sizeof(float), '\0'));
  ProtobufWriter value;
  value.add_text(kTag, "_hparams_/session_start_info");
  value.add_message(kTensor, zero);
  value.add_message(kMetadata, wrapped(kPluginData, plugin));
  ProtobufWriter event;
  event.add_double(kWallTime, unix_s);
  event.add_message(kSummary, wrapped(kSummaryValue, value));
  return framed(event);
}

EventFile::EventFile(const std::filesystem::path& folder, double begun_s)
    : path_(folder / file_name(begun_s)), begun_s_(begun_s) {}

void EventFile::add(std::span<const MetricRecord> records) {
  std::string bytes = length_ == 0 ? event_file_start(begun_s_, records.front().step) : "";
  for (const MetricRecord& record : records) bytes += event_record(record);
  if (length_ == 0) {
    store::publish_file(path_, bytes, store::Effort::kOnce);
  } else {
    const store::IoOperation operation("write", path_);
    store::PinnedFolders::check(path_);
    FileDescriptor file = open_own_file(path_, O_WRONLY);
    if (!file) store::fail_system("write", path_, "open", errno);
    if (const int error = store::write_at(file, std::as_bytes(std::span(bytes)), length_))
      store::fail_system("write", path_, "write", error);
    if (const int error = store::close_file(std::move(file)))
      store::fail_system("write", path_, "close", error);
  }
  length_ += bytes.size();
}

std::uint64_t first_step_without_event(const std::filesystem::path& folder) {
  std::uint64_t first = 0;
  for (const std::filesystem::path& file : store::list_folder(folder)) {
    const std::string name = file.filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const std::string bytes = store::read_file(file);
    for (std::string_view rest = bytes; const auto event = consume_record(rest);) {
      if (const auto step = step_of_values(*event)) first = std::max(first, *step + 1);
    }
  }
  return first;
}

}  // namespace skyline::report
