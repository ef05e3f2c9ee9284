#include "run/account.hpp"

#include <algorithm>

namespace skyline::run {

AccountBook::AccountBook(std::vector<SlotAccount> slots) : slots_(std::move(slots)) {
  for (std::size_t i = 0; i < slots_.size(); ++i) index_[{slots_[i].rank, slots_[i].slot}] = i;
}

void AccountBook::add(const trial::TrialTiming& timing, bool counts) {
  SlotAccount& account = slots_[index_.at({timing.rank, timing.slot})];
  if (counts) ++account.trials;
  account.setup_s += timing.setup_s;
  account.train_s += timing.train_s;
  account.validate_s += timing.validate_s;
  account.latency_s += timing.latency_s;
}

RunAccount AccountBook::after(double wall_s) const {
  RunAccount account{wall_s, slots_};
  for (SlotAccount& slot : account.slots) {
    slot.idle_s = std::max(0.0, wall_s - slot.setup_s - slot.train_s - slot.validate_s - slot.latency_s);
  }
  return account;
}

double RunAccount::utilization() const {
  double busy_s = 0;
  for (const SlotAccount& slot : slots) busy_s += slot.train_s + slot.validate_s + slot.latency_s;
  const double offered_s = wall_s * static_cast<double>(slots.size());
  return offered_s > 0 ? busy_s / offered_s : 0;
}

}  // namespace skyline::run
