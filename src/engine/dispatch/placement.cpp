#include "engine/dispatch/placement.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>

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

}  // namespace

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

}  // namespace skyline::engine
