#pragma once

#include "store/publish/publish.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/run_folder/run_folder.hpp"

#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

namespace skyline::store {

/// The contents of owner.json. `heartbeat` is the file's modification time, by the file server's clock.
struct ClaimRecord {
  std::string token;  // a random number that identifies the claim
  std::string host;
  std::string place;  // process_place()
  pid_t process = 0;
  std::uint64_t started_ticks = 0;
  std::string folder;       // absolute path of the run folder on that host
  std::uint64_t inode = 0;  // inode number of the run folder, the same on all hosts; 0: unknown
  timespec heartbeat{};

  /// Returns whether the job of the claim is gone. @param now  time of the same clock as `heartbeat`
  bool is_stale(const timespec& now) const;
  /// Returns whether the heartbeat is so old that jobs in other places may take over.
  bool has_old_heartbeat(const timespec& now) const;
  double age_s(const timespec& now) const;
};

/// The record of this process. @param folder  the run folder
ClaimRecord make_claim_record(const std::filesystem::path& folder);
std::string to_json(const ClaimRecord& record);
/// Finds a claim: no record if the file does not exist, a record without a process if it is damaged.
Fault find_claim(const std::filesystem::path& path, std::optional<ClaimRecord>& found);
/// Reads a claim. @throws UserError if it cannot be read
std::optional<ClaimRecord> read_claim_record(const std::filesystem::path& path);
/// Returns the claim in the folder in which the process of a record works, if that folder can be seen from
/// here, and `folder`, where the record was found, has another inode number. The record then belongs to a
/// copy, unless both folders are one that is mounted in two ways. @throws UserError if it cannot be read
std::optional<ClaimRecord> find_original_claim(const ClaimRecord& record,
                                               const std::filesystem::path& folder);

/// The claim as owner.json; the owner must call renew() regularly. One thread at a time.
class FileClaim {
 public:
  /// Used by acquire_file_claim, which has already written the record.
  FileClaim(RunPaths paths, ClaimRecord record, double interval_s);
  ~FileClaim();  // returns the claim
  FileClaim(const FileClaim&) = delete;
  FileClaim& operator=(const FileClaim&) = delete;

  /// Writes a heartbeat.
  /// @throws UserError if another job took the folder over, or may have, because heartbeats have failed for
  ///         longer than the interval and patience_s()
  void renew();

 private:
  using Clock = std::chrono::steady_clock;

  Fault try_to_renew();
  Fault restore() const;

  RunPaths paths_;
  PinnedFolders pinned_;
  ClaimRecord record_;
  double interval_s_;
  Clock::time_point renewed_ = Clock::now();
};

/// Makes the folders and writes owner.json.
/// @param interval_s  time between heartbeats
/// @throws UserError like RunClaim::acquire
std::unique_ptr<FileClaim> acquire_file_claim(const RunPaths& paths, double interval_s);

/// Adds a thread that renews the claim. See RunClaim.
std::unique_ptr<RunClaim> keep_claim(std::unique_ptr<FileClaim> claim, double interval_s);

}  // namespace skyline::store
