#pragma once

#include "skyline/trial/trial.hpp"

#include "store/journal/run_tables.hpp"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace skyline::run {

using store::SlotAccount;

/// How the slots of all ranks spent their time, in one job or in all jobs of a run.
struct RunAccount {
  double wall_s = 0;               // sum over all jobs, each from the start of its engine
  std::vector<SlotAccount> slots;  // ordered by job, rank and slot
  double utilization() const;      // busy time / wall time of all slots
};

/// Appends the account of one more job, which gets the next number, to that of the earlier jobs.
RunAccount with_job(std::vector<SlotAccount> earlier, std::vector<SlotAccount> job);

/// Sums up the time of all slots in this job.
class SlotUsage {
 public:
  SlotUsage() = default;
  /// @param slots  ordered by rank and slot, all times 0
  explicit SlotUsage(std::vector<SlotAccount> slots);

  /// Adds the time of one trial.
  /// @param counts  true if this slot finished the trial or led its group
  void add(const trial::TrialTiming& timing, bool counts);
  const std::vector<SlotAccount>& slots() const { return slots_; }
  /// Returns the account after `wall_s` seconds. It has no slots as long as none of them has done anything.
  RunAccount after(double wall_s) const;

 private:
  std::vector<SlotAccount> slots_;
  std::map<std::pair<int, int>, std::size_t> index_;  // index into the slots, by rank and slot
};

}  // namespace skyline::run
