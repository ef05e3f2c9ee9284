#include "engine/packing.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace skyline::engine {

std::vector<std::size_t> pack(std::span<const double> costs, std::size_t slots, std::size_t capacity) {
  require(costs.size() <= slots * capacity, "more trials than the slots of a round take");
  require(std::ranges::all_of(costs, [](double cost) { return std::isfinite(cost) && cost > 0; }),
          "a trial's predicted cost is not positive and finite");
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t trial) { return costs[trial]; });

  using Load = std::pair<double, std::size_t>;  // work so far, slot
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::size_t slot = 0; slot < slots; ++slot) loads.emplace(0.0, slot);
  std::vector<std::size_t> slot_of(costs.size());
  std::vector<std::size_t> count(slots, 0);
  for (const std::size_t trial : order) {
    const auto [work, slot] = loads.top();
    loads.pop();
    slot_of[trial] = slot;
    if (++count[slot] < capacity) loads.emplace(work + costs[trial], slot);
  }
  return slot_of;
}

}  // namespace skyline::engine
