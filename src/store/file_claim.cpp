#include "store/file_claim.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/log.hpp"

#include "store/file_descriptor.hpp"
#include "store/temporary_file.hpp"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

using Clock = std::chrono::steady_clock;

/// Long enough for another job that judged the same stale claim to have written its own.
constexpr std::chrono::milliseconds kSettle{100};
constexpr int kTries = 5;

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_system("make the folder", folder, "", error.value());
}

std::string describe(const ClaimRecord& record, const timespec& now) {
  const std::string age = "heartbeat " + std::to_string(std::lround(record.age_s(now))) + " s ago";
  if (record.process == 0) return "an unknown process (its owner.json is damaged), " + age;
  return "process " + std::to_string(record.process) + " on host " + record.host + ", " + age;
}

[[noreturn]] void fail_in_use(const RunPaths& paths, const ClaimRecord& owner, const timespec& now) {
  throw UserError(paths.root.string() + " is in use by " + describe(owner, now) +
                  " (end that run first, or choose another --run folder)");
}

class FileClaim final : public RunClaim {
 public:
  FileClaim(RunPaths paths, ClaimRecord record, Clock::duration renew_after)
      : paths_(std::move(paths)), record_(std::move(record)), renew_after_(renew_after) {}
  ~FileClaim() override;
  FileClaim(const FileClaim&) = delete;
  FileClaim& operator=(const FileClaim&) = delete;

  void renew() override;

 private:
  void restore();

  RunPaths paths_;
  ClaimRecord record_;
  Clock::duration renew_after_;
  Clock::time_point renewed_ = Clock::now();
};

FileClaim::~FileClaim() {
  try {
    const std::optional<ClaimRecord> owner = read_claim_record(paths_.owner());
    if (owner && owner->token == record_.token) ::unlink(paths_.owner().c_str());
  } catch (const UserError& error) {
    log::warning(error.what());  // the next run finds this process gone
  }
}

void FileClaim::renew() {
  if (Clock::now() - renewed_ < renew_after_) return;
  renewed_ = Clock::now();
  const std::optional<ClaimRecord> owner = read_claim_record(paths_.owner());
  if (!owner) return restore();
  if (owner->token != record_.token) {
    throw UserError(paths_.root.string() + " was taken over by process " + std::to_string(owner->process) +
                    " on host " + owner->host + " (this job stood still for too long)");
  }
  // No times are given: a file server then uses its own clock, the one that other hosts compare with.
  if (::utimensat(AT_FDCWD, paths_.owner().c_str(), nullptr, 0) != 0) {
    fail_system("write", paths_.owner(), "utimensat", errno);
  }
}

/// Somebody has removed owner.json: claims the folder again.
void FileClaim::restore() {
  TemporaryFile file(paths_.owner());
  const std::string text = to_json(record_);
  file.write(std::as_bytes(std::span(text)));
  if (!file.become_target()) throw UserError(paths_.root.string() + " was taken over by another job");
}

}  // namespace

std::unique_ptr<RunClaim> take_file_claim(const RunPaths& paths, Clock::duration renew_after) {
  make_folder(paths.root);
  for (const std::filesystem::path& folder : paths.folders()) make_folder(folder);
  const ClaimRecord record = make_claim_record();
  const std::string text = to_json(record);
  for (int i = 0; i < kTries; ++i) {
    TemporaryFile file(paths.owner());
    file.write(std::as_bytes(std::span(text)));
    if (file.become_target()) return std::make_unique<FileClaim>(paths, record, renew_after);

    const timespec now = file.written_at();
    const std::optional<ClaimRecord> owner = read_claim_record(paths.owner());
    if (!owner) continue;  // given back just now
    if (!owner->is_stale(now)) fail_in_use(paths, *owner, now);
    file.replace_target();
    // Another job may have judged the same claim: the last one that wrote owns the folder.
    std::this_thread::sleep_for(kSettle);
    const std::optional<ClaimRecord> settled = read_claim_record(paths.owner());
    if (!settled || settled->token != record.token) continue;
    log::warning(paths.root.string() + ": taken over from " + describe(*owner, now) + ", which is gone");
    return std::make_unique<FileClaim>(paths, record, renew_after);
  }
  throw UserError(paths.root.string() +
                  ": other jobs keep taking this folder over (choose another --run folder)");
}

}  // namespace skyline::store
