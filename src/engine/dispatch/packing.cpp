#include "engine/dispatch/packing.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

namespace skyline::engine {
namespace {

/// A range of ranks, [begin, end).
struct RankRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

RankRange training_ranks(const RankTable& table) {
  const auto trains = [](std::size_t slots) { return slots > 0; };
  const auto begin = std::ranges::find_if(table.slots, trains);
  require(begin != table.slots.end(), "a run without slots");
  require(std::all_of(begin, table.slots.end(), trains), "a rank without slots among those that train");
  return {static_cast<std::size_t>(begin - table.slots.begin()), table.slots.size()};
}

/// Ranges of neighbouring ranks of one host.
std::vector<RankRange> ranks_by_host(const RankTable& table) {
  const RankRange all = training_ranks(table);
  std::vector<RankRange> hosts{{all.begin, all.begin}};
  for (std::size_t rank = all.begin; rank < all.end; ++rank) {
    if (table.hosts[rank] != table.hosts[hosts.back().begin]) hosts.push_back({rank, rank});
    hosts.back().end = rank + 1;
  }
  return hosts;
}

/// Places groups one after the other; each rank's first slot does its part of them in this order.
class GroupPacking {
 public:
  explicit GroupPacking(const RankTable& table)
      : table_(table), available_(ranks_for_groups(table)), loads_(table.slots.size()) {}

  std::size_t ranks_of(const TrialWork& trial) const { return ranks_of_group(trial.members, available_); }
  const SlotLoad& load(std::size_t rank) const { return loads_[rank]; }

  Placement place(const TrialWork& trial) {
    const std::size_t ranks = ranks_of(trial);
    Placement place{.ranks = ranks};
    double start = -1;
    for (const std::size_t first : blocks_of(table_, ranks)) {
      const double ready = free_at(first, ranks);
      if (start >= 0 && ready >= start) continue;
      start = ready;
      place.rank = first;
    }
    for (std::size_t rank = place.rank; rank < place.rank + ranks; ++rank) {
      loads_[rank] = {start + trial.cost / static_cast<double>(ranks), loads_[rank].trials + 1};
    }
    return place;
  }

 private:
  double free_at(std::size_t first, std::size_t ranks) const {
    double latest = 0;
    for (std::size_t rank = first; rank < first + ranks; ++rank) {
      latest = std::max(latest, loads_[rank].work);
    }
    return latest;
  }

  const RankTable& table_;
  const std::size_t available_;
  std::vector<SlotLoad> loads_;  // loads of the first slots
};

/// Indices of the groups' trials in the order of training.
std::vector<std::size_t> group_order(std::span<const TrialWork> trials, const GroupPacking& packing) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].members > 1) order.push_back(i);
  }
  const auto size = [&](std::size_t trial) {
    const std::size_t ranks = packing.ranks_of(trials[trial]);
    return std::tuple(ranks, trials[trial].cost / static_cast<double>(ranks));
  };
  std::ranges::stable_sort(order, std::greater<>(), size);
  return order;
}

/// Places the trials of single slots: on the first slots of all ranks, then the second ones, ...
void place_singles(std::span<const TrialWork> trials, const RankTable& table, const GroupPacking& groups,
                   std::size_t capacity, RoundPlan& plan) {
  std::vector<Placement> slots;
  std::vector<SlotLoad> loads;
  for (std::size_t slot = 0; slot < *std::ranges::max_element(table.slots); ++slot) {
    for (std::size_t rank = 0; rank < table.slots.size(); ++rank) {
      if (slot >= table.slots[rank]) continue;
      slots.push_back({.rank = rank, .slot = slot});
      loads.push_back(slot == 0 ? groups.load(rank) : SlotLoad{});
    }
  }
  std::vector<std::size_t> singles;
  std::vector<double> costs;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].members > 1) continue;
    singles.push_back(i);
    costs.push_back(trials[i].cost);
  }
  const std::vector<std::size_t> slot_of = pack(costs, loads, capacity);
  for (std::size_t i = 0; i < singles.size(); ++i) plan.places[singles[i]] = slots[slot_of[i]];
  plan.order.insert(plan.order.end(), singles.begin(), singles.end());
}

void require_costs(std::span<const double> costs) {
  require(std::ranges::all_of(costs, [](double cost) { return std::isfinite(cost) && cost > 0; }),
          "a trial's predicted cost is not positive and finite");
}

}  // namespace

std::vector<std::size_t> pack(std::span<const double> costs, std::span<const SlotLoad> loads,
                              std::size_t capacity) {
  require_costs(costs);
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t trial) { return costs[trial]; });

  using Load = std::pair<double, std::size_t>;  // work so far, slot
  std::priority_queue<Load, std::vector<Load>, std::greater<>> open;
  std::vector<std::size_t> count;
  for (const SlotLoad& load : loads) {
    if (load.trials < capacity) open.emplace(load.work, count.size());
    count.push_back(load.trials);
  }
  std::vector<std::size_t> slot_of(costs.size());
  for (const std::size_t trial : order) {
    require(!open.empty(), "more trials than the slots of a round take");
    const auto [work, slot] = open.top();
    open.pop();
    slot_of[trial] = slot;
    if (++count[slot] < capacity) open.emplace(work + costs[trial], slot);
  }
  return slot_of;
}

std::size_t ranks_for_groups(const RankTable& table) {
  return table.groups_span ? training_ranks(table).size() : 1;
}

std::size_t ranks_of_group(std::uint32_t members, std::size_t available) {
  std::size_t ranks = members;
  for (std::size_t members_of_rank = 1; ranks > available;) {
    members_of_rank *= 2;
    ranks = (members + members_of_rank - 1) / members_of_rank;
  }
  return ranks;
}

std::vector<std::size_t> blocks_of(const RankTable& table, std::size_t ranks) {
  std::vector<RankRange> ranges = ranks_by_host(table);
  const bool fits_a_host =
      std::ranges::any_of(ranges, [&](const RankRange& range) { return range.size() >= ranks; });
  if (!fits_a_host) ranges = {training_ranks(table)};
  std::vector<std::size_t> blocks;
  for (const RankRange& range : ranges) {
    for (std::size_t first = range.begin; first + ranks <= range.end; first += ranks) blocks.push_back(first);
  }
  require(!blocks.empty(), "a group of more ranks than train");
  return blocks;
}

RoundPlan plan_round(std::span<const TrialWork> trials, const RankTable& table, std::size_t capacity) {
  std::vector<double> costs;
  for (const TrialWork& trial : trials) costs.push_back(trial.cost);
  require_costs(costs);
  GroupPacking groups(table);
  RoundPlan plan{std::vector<Placement>(trials.size()), group_order(trials, groups)};
  for (const std::size_t trial : plan.order) plan.places[trial] = groups.place(trials[trial]);
  place_singles(trials, table, groups, capacity, plan);
  return plan;
}

}  // namespace skyline::engine
