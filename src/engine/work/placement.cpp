#include "engine/work/placement.hpp"

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

/// Returns ranges of neighbouring ranks that train.
/// @param of_hosts  each range within one host
std::vector<RankRange> training_ranges(const RankTable& table, bool of_hosts) {
  std::vector<RankRange> ranges;
  for (std::size_t rank = 0; rank < table.slots.size(); ++rank) {
    if (table.slots[rank] == 0) continue;
    const bool goes_on = !ranges.empty() && ranges.back().end == rank &&
                         (!of_hosts || table.hosts[rank] == table.hosts[rank - 1]);
    if (!goes_on) ranges.push_back({rank, rank});
    ranges.back().end = rank + 1;
  }
  require(!ranges.empty(), "a run without slots");
  return ranges;
}

}  // namespace

std::size_t ranks_for_groups(const RankTable& table) {
  if (!table.groups_span) return 1;
  return std::ranges::max(training_ranges(table, false), {}, &RankRange::size).size();
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
  std::vector<RankRange> ranges = training_ranges(table, true);
  const bool fits_a_host =
      std::ranges::any_of(ranges, [&](const RankRange& range) { return range.size() >= ranks; });
  if (!fits_a_host) ranges = training_ranges(table, false);
  std::vector<std::size_t> blocks;
  for (const RankRange& range : ranges) {
    for (std::size_t first = range.begin; first + ranks <= range.end; first += ranks) blocks.push_back(first);
  }
  require(!blocks.empty(), "a group of more ranks than train");
  return blocks;
}

}  // namespace skyline::engine
