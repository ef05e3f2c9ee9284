#pragma once

#include "store/publish/retry_policy.hpp"

#include <cstdint>
#include <ctime>
#include <filesystem>
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

}  // namespace skyline::store
