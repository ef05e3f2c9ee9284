#include "store/run_folder/file_claim.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/system/process.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/publish/temporary_file.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
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

}  // namespace skyline::store
