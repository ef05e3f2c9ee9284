#pragma once

#include "engine/dispatch/dispatcher.hpp"
#include "engine/dispatch/rank_table.hpp"
#include "engine/loop/run.hpp"

#include <map>
#include <utility>
#include <vector>

namespace skyline::engine {

/// Sums up what the slots of all ranks did in this job.
class AccountBook {
 public:
  explicit AccountBook(const RankTable& ranks);
  /// A trial that was stopped, and what a rank did for one that another led, count with their time alone.
  void add(const Arrival& arrival);
  /// As it stands after `wall_s` seconds.
  RunAccount close(double wall_s) const;
  const std::vector<SlotAccount>& slots() const { return slots_; }

 private:
  std::vector<SlotAccount> slots_;  // by rank and slot
  std::map<std::pair<int, int>, std::size_t> index_;
};

}  // namespace skyline::engine
