#include "store/publish/publish.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "core/system/process.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/retry_policy.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

constexpr std::string_view kPublishTask = "write";
constexpr std::string_view kMakeTask = "make the folder";

constexpr std::size_t kTextBytes = std::size_t{1} << 20U;  // bytes of a text that are written at once

/// A temporary of another host may be in use unless nobody has touched it for this long.
constexpr std::time_t kForeignAge_s = 60;

bool is_abandoned(const std::filesystem::path& path) {
  TemporaryName name;
  if (!parse_temporary_name(path.filename().string(), name)) return false;
  if (name.host == host_name()) return !process_exists(name.process);
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && std::time(nullptr) - status.st_mtime > kForeignAge_s;
}

/// Writes patiently. @throws FaultError
template <typename Try>
void write_for_program(const std::filesystem::path& path, Try attempt) {
  try {
    patiently(kPublishTask, path, attempt);
  } catch (const UserError& mistake) {
    throw FaultError(mistake.what());
  }
}

std::mutex pinned_mutex;
std::list<const PinnedFolders*> all_pinned;  // all living objects

}  // namespace

Fault publish_once(const std::filesystem::path& path, const FillFile& fill) {
  TemporaryFile file(path);
  if (const Fault fault = file.create()) return fault;
  if (const Fault fault = fill(file)) return fault;
  if (const Fault fault = file.sync()) return fault;
  return file.replace_target();
}

void publish(const std::filesystem::path& path, const FillFile& fill, Effort effort) {
  if (effort == Effort::kPatient)
    return patiently(kPublishTask, path, [&] { return publish_once(path, fill); });
  const IoOperation operation(kPublishTask, path);
  if (const Fault fault = publish_once(path, fill)) fail_system(kPublishTask, path, fault.call, fault.error);
}

void publish_file(const std::filesystem::path& path, std::string_view text, Effort effort) {
  publish(
      path, [text](TemporaryFile& file) { return file.write({std::as_bytes(std::span(text))}, 0); }, effort);
}

void publish_text(const std::filesystem::path& path,
                  const std::function<void(const WriteText& write)>& produce) {
  publish(path, [&](TemporaryFile& file) {
    std::string waiting;
    std::uint64_t place = 0;
    Fault fault;
    const auto flush = [&] {
      if (!fault) fault = file.write({std::as_bytes(std::span(waiting))}, place);
      place += waiting.size();
      waiting.clear();
    };
    produce([&](std::string_view part) {
      waiting += part;
      if (waiting.size() >= kTextBytes) flush();
    });
    flush();
    return fault;
  });
}

bool publish_new_file(const std::filesystem::path& path, std::string_view text) {
  bool ours = false;   // this process has the name, although it may not be durable yet
  bool taken = false;  // somebody else has the name
  patiently(kPublishTask, path, [&]() -> Fault {
    TemporaryFile file(path);
    if (const Fault fault = file.make({std::as_bytes(std::span(text))})) return fault;
    if (ours) return file.replace_target();
    const Fault fault = file.become_target();
    taken = fault.error == EEXIST;
    ours = !taken && file.has_become_target();
    return taken ? Fault{} : fault;
  });
  return !taken;
}

void make_own_folder(const std::filesystem::path& folder) {
  patiently(kMakeTask, folder, [&]() -> Fault {
    std::error_code error;
    if (std::filesystem::symlink_status(folder, error).type() == std::filesystem::file_type::symlink) {
      throw UserError(folder.string() +
                      ": expected a folder, found a symbolic link (files would be written and removed where "
                      "it leads: put a folder in its place)");
    }
    std::filesystem::create_directories(folder, error);
    return {"", error.value()};
  });
}

void make_closed_folder(const std::filesystem::path& folder) {
  patiently(kMakeTask, folder, [&]() -> Fault {
    return {"mkdir", ::mkdir(folder.c_str(), S_IRWXU) == 0 || errno == EEXIST ? 0 : errno};
  });
}

void remove_file(const std::filesystem::path& path) {
  PinnedFolders::check(path);
  patiently("remove", path, [&]() -> Fault {
    return {"unlink", ::unlink(path.c_str()) == 0 || errno == ENOENT ? 0 : errno};
  });
}

void rename_entry(const std::filesystem::path& from, const std::filesystem::path& to) {
  patiently("rename", from, [&]() -> Fault {
    return {"rename", ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno};
  });
}

FileDescriptor open_own(const std::filesystem::path& path, int flags, unsigned mode) {
  FileDescriptor file;
  write_for_program(path, [&]() -> Fault {
    file = open_own_file(path, flags, mode);
    return {"open", file ? 0 : errno};
  });
  return file;
}

namespace {

void write_own(const std::filesystem::path& path, std::string_view text, int flags) {
  write_for_program(path, [&]() -> Fault {
    FileDescriptor file = open_own_file(path, O_WRONLY | O_CREAT | flags, 0666);
    if (!file) return {"open", errno};
    if (const int error = write_at(file, std::as_bytes(std::span(text)), 0)) return {"write", error};
    return {"close", close_file(std::move(file))};
  });
}

}  // namespace

void write_scratch_file(const std::filesystem::path& path, std::string_view text) {
  write_own(path, text, O_TRUNC);
}

void extend_scratch_file(const std::filesystem::path& path, std::string_view text) {
  write_own(path, text, 0);
}

std::size_t remove_temporaries(const std::filesystem::path& folder) {
  IoOperation operation("remove unfinished files in", folder);
  std::size_t removed = 0;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    operation.begin();
    if (is_abandoned(entry->path()) && ::unlink(entry->path().c_str()) == 0) ++removed;
  }
  return removed;
}

void remove_temporaries_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const std::string beginning = file.filename().string() + ".tmp." + host_name() + ".";
  for (const std::filesystem::path& path : list_folder(folder)) {
    std::error_code ignored;  // a file that stays does no harm
    if (path.filename().string().starts_with(beginning) && is_abandoned(path)) {
      std::filesystem::remove_all(path, ignored);
    }
  }
}

bool exists(const std::filesystem::path& path) {
  bool there = false;
  patiently("look at", path, [&]() -> Fault {
    std::error_code failure;
    there = std::filesystem::exists(path, failure);
    return {"", failure.value()};
  });
  return there;
}

Fault read_once(const std::filesystem::path& path, std::string& text) {
  struct stat status {};
  const FileDescriptor file = open_regular_file(path, status);
  if (!file) return {"", errno};
  text.resize(static_cast<std::size_t>(status.st_size) + 1);
  std::size_t filled = 0;
  for (;;) {
    const ssize_t count = ::read(file.get(), text.data() + filled, text.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return {"", errno};
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
    if (filled == text.size()) text.resize(2 * text.size());
  }
  text.resize(filled);
  return {};
}

std::string read_file(const std::filesystem::path& path) {
  std::string text;
  patiently("read", path, [&] { return read_once(path, text); });
  return text;
}

std::string read_end(const std::filesystem::path& path, std::size_t most) {
  const IoOperation operation("read", path);
  const FileDescriptor file = open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  std::string text(std::min(size, most), '\0');
  const ssize_t read = ::pread(file.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(read > 0 ? static_cast<std::size_t>(read) : 0);
  return text;
}

ConfigNode load_yaml_file(const std::filesystem::path& path) {
  return load_yaml_text(read_file(path), path.string());
}

PinnedFolders::PinnedFolders(const std::vector<std::filesystem::path>& folders) {
  for (const std::filesystem::path& folder : folders) {
    FileDescriptor descriptor = open_file(folder, O_PATH | O_DIRECTORY);
    // Without a slash at the end, as check() has it.
    if (descriptor)
      pinned_.push_back(
          {std::filesystem::absolute(folder / "").lexically_normal().parent_path(), std::move(descriptor)});
  }
  const std::lock_guard lock(pinned_mutex);
  all_pinned.push_back(this);
}

PinnedFolders::~PinnedFolders() {
  const std::lock_guard lock(pinned_mutex);
  all_pinned.remove(this);
}

void PinnedFolders::check_folder(const std::filesystem::path& folder) const {
  for (const Pinned& pinned : pinned_) {
    if (pinned.folder != folder) continue;
    struct stat then {};
    struct stat now {};
    if (::fstat(pinned.descriptor.get(), &then) != 0 || ::stat(folder.c_str(), &now) != 0) continue;
    if (then.st_ino != now.st_ino || then.st_dev != now.st_dev)
      throw UserError(folder.string() +
                      ": another folder has taken its place: nothing is written there (put it back, then run "
                      "again with --resume)");
  }
}

void PinnedFolders::check(const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).lexically_normal().parent_path();
  const IoOperation operation("look at", folder);
  const std::lock_guard lock(pinned_mutex);
  for (const PinnedFolders* const some : all_pinned) {
    some->check_folder(folder.parent_path());
    some->check_folder(folder);
  }
}

void append_lines(const std::filesystem::path& path, std::string_view lines) {
  const IoOperation operation("write", path);
  PinnedFolders::check(path);
  FileDescriptor file = open_own_file(path, O_WRONLY | O_CREAT, 0666);
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) fail_system("write", path, "open", errno);
  const std::string text = (status.st_size > 0 ? "\n" : "") + std::string(lines);
  const int error =
      write_at(file, std::as_bytes(std::span(text)), static_cast<std::uint64_t>(status.st_size));
  if (error != 0) fail_system("write", path, "write", error);
  if (const int closed = close_file(std::move(file))) fail_system("write", path, "close", closed);
}

void read_lines(const std::filesystem::path& path, const std::function<void(std::string_view line)>& read) {
  const std::string text = read_file(path);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    try {
      read(rest.substr(0, end));
    } catch (const UserError&) {
      // The line is left out.
    }
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
}

}  // namespace skyline::store
