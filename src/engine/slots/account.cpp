#include "engine/slots/account.hpp"

#include <algorithm>

namespace skyline::engine {

AccountBook::AccountBook(const RankTable& ranks) {
  for (std::size_t rank = 0; rank < ranks.slots.size(); ++rank) {
    for (std::size_t slot = 0; slot < ranks.slots[rank]; ++slot) {
      SlotAccount account;
      account.rank = static_cast<int>(rank);
      account.slot = static_cast<int>(slot);
      account.host = ranks.hosts[rank];
      index_[{account.rank, account.slot}] = slots_.size();
      slots_.push_back(std::move(account));
    }
  }
}

void AccountBook::add(const Arrival& arrival) {
  const trial::TrialTiming& timing = arrival.timing;
  SlotAccount& account = slots_[index_.at({timing.rank, timing.slot})];
  if (!arrival.stopped() && !arrival.helper) ++account.trials;
  account.setup_s += timing.setup_s;
  account.train_s += timing.train_s;
  account.validate_s += timing.validate_s;
  account.latency_s += timing.latency_s;
}

RunAccount AccountBook::close(double wall_s) const {
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

}  // namespace skyline::engine
