#include "run/account.hpp"

#include <algorithm>

namespace skyline::run {

SlotUsage::SlotUsage(std::vector<SlotAccount> slots) : slots_(std::move(slots)) {
  for (std::size_t i = 0; i < slots_.size(); ++i) index_[{slots_[i].rank, slots_[i].slot}] = i;
}

void SlotUsage::add(const trial::TrialTiming& timing, bool counts) {
  SlotAccount& account = slots_[index_.at({timing.rank, timing.slot})];
  if (counts) ++account.trials;
  account.setup_s += timing.setup_s;
  account.train_s += timing.train_s;
  account.validate_s += timing.validate_s;
  account.latency_s += timing.latency_s;
  account.wait_device_s += timing.wait_device_s;
  account.wait_files_s += timing.wait_files_s + timing.wait_hand_in_s;
  account.wait_ranks_s += timing.wait_ranks_s;
}

RunAccount SlotUsage::after(double wall_s) const {
  const bool idle = std::ranges::all_of(
      slots_, [](const SlotAccount& slot) { return slot.trials == 0 && slot.wall_s() == 0; });
  RunAccount account{wall_s, idle ? std::vector<SlotAccount>() : slots_};
  for (SlotAccount& slot : account.slots) slot.wait_work_s = std::max(0.0, wall_s - slot.wall_s());
  return account;
}

double RunAccount::utilization() const {
  double busy_s = 0;
  double offered_s = 0;
  for (const SlotAccount& slot : slots) {
    busy_s += slot.busy_s();
    offered_s += slot.wall_s();
  }
  return offered_s > 0 ? busy_s / offered_s : 0;
}

RunAccount with_job(std::vector<SlotAccount> earlier, std::vector<SlotAccount> job) {
  RunAccount account{0, std::move(earlier)};
  const std::uint32_t number = account.slots.empty() ? 1 : account.slots.back().job + 1;
  for (SlotAccount& slot : job) {
    slot.job = number;
    account.slots.push_back(std::move(slot));
  }
  std::map<std::uint32_t, double> walls;  // wall time of each job
  for (const SlotAccount& slot : account.slots) walls[slot.job] = std::max(walls[slot.job], slot.wall_s());
  for (const auto& [each, wall_s] : walls) account.wall_s += wall_s;
  return account;
}

}  // namespace skyline::run
