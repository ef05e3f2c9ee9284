#include "store/events/event_file.hpp"

#include "core/system/process.hpp"
#include "core/text/hash.hpp"
#include "core/text/protobuf_writer.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/pinned_folders.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace skyline::store {
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

EventFile::EventFile(const std::filesystem::path& folder, double begun_s)
    : path_(folder / file_name(begun_s)), begun_s_(begun_s) {}

void EventFile::add(std::span<const MetricRecord> records) {
  std::string bytes = length_ == 0 ? event_file_start(begun_s_, records.front().step) : "";
  for (const MetricRecord& record : records) bytes += event_record(record);
  if (length_ == 0) {
    publish_file(path_, bytes, Effort::kOnce);
  } else {
    const Attempt attempt("write", path_);
    PinnedFolders::check(path_);
    FileDescriptor file = open_own_file(path_, O_WRONLY);
    if (!file) fail_system("write", path_, "open", errno);
    if (const int error = write_at(file, std::as_bytes(std::span(bytes)), length_))
      fail_system("write", path_, "write", error);
    if (const int error = close_file(std::move(file))) fail_system("write", path_, "close", error);
  }
  length_ += bytes.size();
}

bool has_event_files(const std::filesystem::path& folder) {
  const std::vector<std::filesystem::path> files = list_folder(folder);
  return std::any_of(files.begin(), files.end(), [](const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    return name.starts_with(kPrefix) && name.ends_with(kSuffix);
  });
}

}  // namespace skyline::store
