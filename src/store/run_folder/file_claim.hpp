#pragma once

#include "store/run_folder/claim_record.hpp"
#include "store/run_folder/run_folder.hpp"

#include <chrono>
#include <memory>

namespace skyline::store {

/// The claim as owner.json; somebody has to call renew(). One thread at a time.
class FileClaim {
 public:
  /// For take_file_claim, which has written the record.
  FileClaim(RunPaths paths, ClaimRecord record, double interval_s);
  ~FileClaim();  // gives the claim back
  FileClaim(const FileClaim&) = delete;
  FileClaim& operator=(const FileClaim&) = delete;

  /// A heartbeat. @throws UserError if somebody else took the folder over, or may have; if heartbeats have
  /// failed for longer than the interval and patience_s()
  void renew();

 private:
  using Clock = std::chrono::steady_clock;

  Fault try_to_renew();
  Fault restore() const;

  RunPaths paths_;
  ClaimRecord record_;
  double interval_s_;
  Clock::time_point renewed_ = Clock::now();
};

/// Makes the folders and writes owner.json. @param interval_s  between heartbeats
/// @throws UserError as RunClaim::take
std::unique_ptr<FileClaim> take_file_claim(const RunPaths& paths, double interval_s);

/// A claim with a thread that renews it. See RunClaim.
std::unique_ptr<RunClaim> keep_claim(std::unique_ptr<FileClaim> claim, double interval_s);

}  // namespace skyline::store
