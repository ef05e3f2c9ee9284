#pragma once

#include "store/publish/pinned_folders.hpp"
#include "store/run_folder/claim_record.hpp"
#include "store/run_folder/run_folder.hpp"

#include <chrono>
#include <memory>

namespace skyline::store {

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
