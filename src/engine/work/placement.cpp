#include "engine/work/placement.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace skyline::engine {
namespace {

/// Returns the ranks that train, by host.
std::vector<Block> training_ranks(const RankTable& table) {
  std::vector<Block> hosts;
  std::map<std::string_view, std::size_t> places;
  for (std::size_t rank = 0; rank < table.slots.size(); ++rank) {
    if (table.slots[rank] == 0) continue;
    const auto [host, is_new] = places.try_emplace(table.hosts[rank], hosts.size());
    if (is_new) hosts.emplace_back();
    hosts[host->second].push_back(rank);
  }
  require(!hosts.empty(), "a run without slots");
  return hosts;
}

}  // namespace

std::size_t ranks_for_groups(const RankTable& table) {
  if (!table.groups_span) return 1;
  return table.slots.size() - static_cast<std::size_t>(std::ranges::count(table.slots, std::size_t{0}));
}

std::size_t ranks_of_group(std::uint32_t members, std::size_t available) {
  std::size_t ranks = members;
  for (std::size_t members_of_rank = 1; ranks > available;) {
    members_of_rank *= 2;
    ranks = (members + members_of_rank - 1) / members_of_rank;
  }
  return ranks;
}

std::vector<Block> blocks_of(const RankTable& table, std::size_t ranks) {
  std::vector<Block> hosts = training_ranks(table);
  if (std::ranges::none_of(hosts, [&](const Block& host) { return host.size() >= ranks; })) {
    Block all;
    for (const Block& host : hosts) all.insert(all.end(), host.begin(), host.end());
    hosts = {std::move(all)};
  }
  std::vector<Block> blocks;
  for (const Block& host : hosts) {
    const auto step = static_cast<std::ptrdiff_t>(ranks);
    for (auto first = host.begin(); host.end() - first >= step; first += step)
      blocks.emplace_back(first, first + step);
  }
  require(!blocks.empty(), "a group of more ranks than train");
  return blocks;
}

}  // namespace skyline::engine
