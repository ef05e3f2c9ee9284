#include "store/events/event_file.hpp"

#include "skyline/core/error.hpp"

#include "store/events/event_record.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/list_folder.hpp"
#include "store/publish/publication.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/process_identity.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace skyline::store {
namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";  // readers know them by it
constexpr std::string_view kSuffix = ".skyline";

/// Ten digits at least, so that names sort by time.
std::string file_name(double begun_s) {
  char seconds[24];
  std::snprintf(seconds, sizeof seconds, "%010" PRId64, static_cast<std::int64_t>(begun_s));
  return std::string(kPrefix) + seconds + "." + host_name() + "." + std::to_string(::getpid()) +
         std::string(kSuffix);
}

/// The event files of this program in a folder, oldest first. @throws UserError
std::vector<std::filesystem::path> event_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files = list_folder(folder);
  std::erase_if(files, [](const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    return !name.starts_with(kPrefix) || !name.ends_with(kSuffix);
  });
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& folder, double begun_s)
    : path_(folder / file_name(begun_s)), begun_s_(begun_s) {}

void EventFile::hold(std::span<const MetricRecord> records) {
  for (const MetricRecord& record : records) held_ += event_record(record);
}

void EventFile::add(std::span<const MetricRecord> records) {
  std::string bytes = (length_ == 0 ? event_file_start(begun_s_) : "") + held_;
  for (const MetricRecord& record : records) bytes += event_record(record);
  const auto pieces = std::as_bytes(std::span(bytes));
  if (length_ == 0) {
    publish(
        path_, [&](TemporaryFile& file) { return file.write({pieces}, 0); }, Effort::kOnce);
  } else {
    FileDescriptor file = open_file(path_, O_WRONLY);
    if (!file) fail_system("write", path_, "open", errno);
    if (const int error = write_at(file, pieces, length_)) fail_system("write", path_, "write", error);
    if (const int error = close_file(std::move(file))) fail_system("write", path_, "close", error);
  }
  length_ += bytes.size();
  held_ = {};
}

void EventFile::remove_others() const {
  for (const std::filesystem::path& file : event_files(path_.parent_path())) {
    if (file != path_ && ::unlink(file.c_str()) != 0 && errno != ENOENT) {
      fail_system("remove", file, "unlink", errno);
    }
  }
}

std::map<std::uint64_t, RecordedStep> recorded_steps(const std::filesystem::path& folder,
                                                     std::string_view name) {
  std::map<std::uint64_t, RecordedStep> steps;
  try {
    for (const std::filesystem::path& file : event_files(folder)) {
      std::string text;
      if (read_once(file, text)) continue;
      std::string_view rest = text;
      while (const auto mark = take_event(rest)) {
        if (mark->step)
          steps.insert_or_assign(*mark->step, RecordedStep{mark->unix_s, recorded_value(*mark, name)});
      }
    }
  } catch (const UserError&) {
    return steps;  // no such folder: an older run
  }
  return steps;
}

}  // namespace skyline::store
