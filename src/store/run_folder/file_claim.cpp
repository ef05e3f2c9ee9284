#include "store/run_folder/file_claim.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/system/process.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/hash.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/publish/temporary_file.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

/// Long enough for another job that found the same stale claim to write its own.
constexpr std::chrono::milliseconds kRecheckDelay{100};
constexpr int kTries = 5;
constexpr std::string_view kClaimTask = "write";

/// Warns if another user owns a folder of the run: that user can replace the files in it.
void warn_of_owners(const RunPaths& paths) {
  std::vector<std::filesystem::path> folders = paths.folders();
  folders.push_back(paths.root);
  for (const std::filesystem::path& folder : folders) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0 || status.st_uid == ::geteuid()) continue;
    log::warning(folder.string() + ": belongs to another user, who may replace files of this run");
    return;
  }
}

std::string describe(const ClaimRecord& record, const timespec& now) {
  const std::string age = "heartbeat " + std::to_string(std::lround(record.age_s(now))) + " s ago";
  if (record.process == 0) return "an unknown process (its owner.json is damaged), " + age;
  return "process " + std::to_string(record.process) + " on host " + record.host + ", " + age;
}

/// Returns whether the folder is a copy of the one in which the live process of a claim works: what this
/// process has written here is not seen there. One folder that is mounted in two ways would show it.
/// @pre this process has a temporary file in the folder
bool is_copy(const RunPaths& paths, const ClaimRecord& owner) {
  if (!find_original_claim(owner, paths.root)) return false;
  bool has_own = false;  // else nothing is known
  for (const std::filesystem::path& file : list_folder(paths.root)) {
    TemporaryName name;
    const bool is_own = parse_temporary_name(file.filename().string(), name) && name.process == ::getpid() &&
                        name.host == host_name();
    if (is_own && store::exists(std::filesystem::path(owner.folder) / file.filename())) return false;
    has_own = has_own || is_own;
  }
  return has_own;
}

[[noreturn]] void fail_in_use(const RunPaths& paths, const ClaimRecord& owner, const timespec& now) {
  throw UserError(paths.root.string() + " is in use by " + describe(owner, now) +
                  " (end that run first, or choose another --run folder)");
}

constexpr double kStaleAge_s = 60;

ClaimRecord parse_record(std::string_view text) {
  ClaimRecord record;
  const auto json = nlohmann::ordered_json::parse(shallow_json(text), nullptr, false);
  try {
    record.token = json.at("token").get<std::string>();
    record.host = json.at("host").get<std::string>();
    record.place = json.at("place").get<std::string>();
    record.process = json.at("pid").get<pid_t>();
    record.started_ticks = json.at("started_ticks").get<std::uint64_t>();
    record.folder = json.value("folder", "");
    record.inode = json.value("inode", std::uint64_t{0});
  } catch (const nlohmann::ordered_json::exception&) {
    return {};
  }
  return record;
}

/// Returns 0 if it is unknown.
std::uint64_t inode_of(const std::filesystem::path& folder) {
  struct stat status {};
  return ::stat(folder.c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

FileClaim::FileClaim(RunPaths paths, ClaimRecord record, double interval_s)
    : paths_(std::move(paths)),
      pinned_(paths_.own_folders()),
      record_(std::move(record)),
      interval_s_(interval_s) {}

FileClaim::~FileClaim() {
  try {
    const IoOperation operation("remove", paths_.owner());
    const std::optional<ClaimRecord> owner = read_claim_record(paths_.owner());
    if (owner && owner->token == record_.token) ::unlink(paths_.owner().c_str());
  } catch (const Problem& error) {
    log::warning(error.what());  // the next run finds that this process is gone
  }
}

/// Never waits: after a fault that may pass, the next heartbeat tries again.
void FileClaim::renew() {
  const Clock::time_point now = Clock::now();
  const IoOperation operation(kClaimTask, paths_.owner());
  const Fault fault = try_to_renew();
  if (!fault) {
    renewed_ = now;
    return;
  }
  const std::chrono::duration<double> since = now - renewed_;
  if (!is_transient(fault.error) || since.count() - interval_s_ > patience_s()) {
    fail_system(kClaimTask, paths_.owner(), fault.call, fault.error);
  }
  log::warning("cannot write " + paths_.owner().string() + " now: " + system_error_text(fault.error) +
               "; trying again at the next heartbeat");
}

Fault FileClaim::try_to_renew() {
  std::optional<ClaimRecord> owner;
  if (const Fault fault = find_claim(paths_.owner(), owner)) return fault;
  if (!owner) return restore();
  if (owner->token != record_.token) {
    throw UserError(paths_.root.string() + " was taken over by process " + std::to_string(owner->process) +
                    " on host " + owner->host + " (this job stood still for too long)");
  }
  record_.heartbeat = owner->heartbeat;
  // No time is given, so that a file server uses its own clock, with which other hosts compare.
  return {"utimensat",
          ::utimensat(AT_FDCWD, paths_.owner().c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno};
}

/// Handles a missing owner.json. While the heartbeat was young no other job could take the folder: a person
/// has removed the file, and the folder is claimed again.
Fault FileClaim::restore() const {
  TemporaryFile file(paths_.owner());
  const std::string text = to_json(record_);
  if (const Fault fault = file.make({std::as_bytes(std::span(text))})) return fault;
  if (record_.has_old_heartbeat(file.written_at())) {
    throw FaultError(paths_.root.string() +
                     ": owner.json is gone, and this job stood still for so long that another one may have "
                     "taken the run over and ended; this one ends (resume with --resume)");
  }
  const Fault fault = file.become_target();
  if (fault.error == EEXIST) throw UserError(paths_.root.string() + " was taken over by another job");
  return fault;
}

std::unique_ptr<FileClaim> acquire_file_claim(const RunPaths& paths, double interval_s) {
  if (!store::exists(paths.root)) make_own_folder(paths.root);  // the user may have chosen a link
  for (const std::filesystem::path& folder : paths.folders()) make_own_folder(folder);
  warn_of_owners(paths);
  ClaimRecord record = make_claim_record(paths.root);
  const std::string text = to_json(record);
  for (int i = 0; i < kTries; ++i) {
    const IoOperation operation(kClaimTask, paths.owner());
    std::optional<TemporaryFile> file;
    patiently(kClaimTask, paths.owner(), [&] {
      file.emplace(paths.owner());
      return file->make({std::as_bytes(std::span(text))});
    });
    record.heartbeat = file->written_at();
    const Fault fault = file->become_target();
    // Whether the name is durable does not matter: after a crash the claim is void.
    if (file->has_become_target()) return std::make_unique<FileClaim>(paths, record, interval_s);
    if (fault.error != EEXIST) fail_system(kClaimTask, paths.owner(), fault.call, fault.error);

    const timespec now = record.heartbeat;
    const std::optional<ClaimRecord> owner = read_claim_record(paths.owner());
    if (!owner) continue;  // the other job has just ended
    const bool gone = owner->is_stale(now);
    if (!gone && !is_copy(paths, *owner)) fail_in_use(paths, *owner, now);
    const Fault replaced = file->replace_target();
    if (!file->has_become_target()) fail_system(kClaimTask, paths.owner(), replaced.call, replaced.error);
    // Another job may have found the same stale claim; the last one that wrote owns the folder.
    std::this_thread::sleep_for(kRecheckDelay);
    const std::optional<ClaimRecord> winner = read_claim_record(paths.owner());
    if (!winner || winner->token != record.token) continue;
    log::warning(paths.root.string() + (gone
                                            ? ": taken over from " + describe(*owner, now) + ", which is gone"
                                            : ": a copy of " + owner->folder + ", where process " +
                                                  std::to_string(owner->process) + " works"));
    return std::make_unique<FileClaim>(paths, record, interval_s);
  }
  throw UserError(paths.root.string() +
                  ": other jobs keep taking this folder over (choose another --run folder)");
}

double ClaimRecord::age_s(const timespec& now) const {
  const double seconds = static_cast<double>(now.tv_sec - heartbeat.tv_sec) +
                         1e-9 * static_cast<double>(now.tv_nsec - heartbeat.tv_nsec);
  return std::max(seconds, 0.0);
}

bool ClaimRecord::is_stale(const timespec& now) const {
  const bool is_observable = process != 0 && place == process_place();
  if (!is_observable) return has_old_heartbeat(now);
  const std::uint64_t ticks = process_start_ticks(process);
  if (ticks != 0) return ticks != started_ticks;
  // A process that /proc hides may be that of the claim, or a later one with its number.
  return !process_exists(process) || has_old_heartbeat(now);
}

bool ClaimRecord::has_old_heartbeat(const timespec& now) const {
  return age_s(now) > kStaleAge_s;
}

ClaimRecord make_claim_record(const std::filesystem::path& folder) {
  ClaimRecord record;
  // A claim without a path is taken for one of the folder where it is found.
  std::error_code unknown;
  record.folder = std::filesystem::canonical(folder, unknown).string();
  record.inode = inode_of(folder);
  record.token = to_hex(random_token());
  record.host = host_name();
  record.place = process_place();
  record.process = ::getpid();
  record.started_ticks = process_start_ticks(record.process);
  return record;
}

std::string to_json(const ClaimRecord& record) {
  nlohmann::ordered_json json;
  json["host"] = record.host;
  json["pid"] = record.process;
  json["started_ticks"] = record.started_ticks;
  json["place"] = record.place;
  json["token"] = record.token;
  json["folder"] = record.folder;
  json["inode"] = record.inode;
  constexpr auto kOtherBytes = nlohmann::ordered_json::error_handler_t::replace;
  return json.dump(2, ' ', false, kOtherBytes) + "\n";
}

Fault find_claim(const std::filesystem::path& path, std::optional<ClaimRecord>& found) {
  found.reset();
  // Opening the file, not just asking for its status, makes an NFS client ask the server for its times.
  struct stat status {};
  const FileDescriptor file = open_regular_file(path, status);
  if (!file) return {"", errno == ENOENT ? 0 : errno};
  std::array<char, 4096> text{};
  const ssize_t length = ::pread(file.get(), text.data(), text.size(), 0);
  if (length < 0) return {"", errno};
  found = parse_record({text.data(), static_cast<std::size_t>(length)});
  found->heartbeat = status.st_mtim;
  return {};
}

std::optional<ClaimRecord> read_claim_record(const std::filesystem::path& path) {
  std::optional<ClaimRecord> found;
  patiently("read", path, [&] { return find_claim(path, found); });
  return found;
}

std::optional<ClaimRecord> find_original_claim(const ClaimRecord& record,
                                               const std::filesystem::path& folder) {
  if (record.inode == 0 || record.process == 0) return std::nullopt;
  const IoOperation operation("look at", record.folder);
  if (inode_of(folder) == record.inode || inode_of(record.folder) != record.inode) return std::nullopt;
  std::optional<ClaimRecord> there = read_claim_record(RunPaths{record.folder}.owner());
  if (there && there->token != record.token) there.reset();
  return there;
}

}  // namespace skyline::store
