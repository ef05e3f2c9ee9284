#pragma once

#include "skyline/trial/trial.hpp"

#include "store/journal/run_tables.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace skyline::run {

using store::SlotAccount;

/// What the slots of all ranks did, in one job or in all jobs of a run.
struct RunAccount {
  double wall_s = 0;               // of all jobs, each from the start of its engine
  std::vector<SlotAccount> slots;  // by job, rank and slot
  double utilization() const;      // busy / wall clock of all slots
};

/// The account of a run's jobs so far, as of the last time that results were written. Without one a run is
/// still a run: where it cannot be read the log says so.
std::vector<SlotAccount> read_account(const store::RunPaths& paths);

/// Behind the account of a run's earlier jobs that of one more, which gets the next number.
RunAccount with_job(std::vector<SlotAccount> earlier, std::vector<SlotAccount> job);

/// Sums up what the slots of all ranks do in this job.
class AccountBook {
 public:
  AccountBook() = default;
  /// @param slots  by rank and slot, with nothing done yet
  explicit AccountBook(std::vector<SlotAccount> slots);

  /// Adds the time of one trial. @param counts  whether the slot led it to its result
  void add(const trial::TrialTiming& timing, bool counts);
  const std::vector<SlotAccount>& slots() const { return slots_; }
  /// The account after `wall_s` seconds; without slots as long as none of them has done anything.
  RunAccount after(double wall_s) const;

 private:
  std::vector<SlotAccount> slots_;
  std::map<std::pair<int, int>, std::size_t> index_;  // by rank and slot
};

}  // namespace skyline::run
