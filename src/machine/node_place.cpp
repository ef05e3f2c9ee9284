#include "skyline/core/error.hpp"

#include "machine/node.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

namespace skyline::machine {
namespace {

using Masks = std::vector<std::vector<int>>;

/// Shares a mask that all ranks have: each rank gets a block of neighbours, because neighbours share caches.
void share_equal_mask(const std::vector<int>& mask, const std::vector<std::size_t>& ranks, Masks& shares) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (mask.size() < ranks.size()) {
      shares[ranks[i]] = {mask[i % mask.size()]};
      continue;
    }
    const std::size_t begin = i * mask.size() / ranks.size();
    const std::size_t end = (i + 1) * mask.size() / ranks.size();
    shares[ranks[i]].assign(mask.begin() + static_cast<std::ptrdiff_t>(begin),
                            mask.begin() + static_cast<std::ptrdiff_t>(end));
  }
}

/// Shares masks that overlap in part: the processor with the fewest candidates is given first, to the
/// candidate with the fewest processors.
void share_overlapping_masks(const Masks& masks, const std::vector<std::size_t>& ranks, Masks& shares) {
  std::map<int, std::vector<std::size_t>> candidates;
  for (const std::size_t rank : ranks) {
    for (const int processor : masks[rank]) candidates[processor].push_back(rank);
  }
  std::vector<int> order;
  for (const auto& [processor, wanted_by] : candidates) order.push_back(processor);
  std::ranges::stable_sort(order, {}, [&](int processor) { return candidates.at(processor).size(); });

  std::map<int, std::size_t> users;
  const auto give = [&](int processor, std::size_t rank) {
    shares[rank].push_back(processor);
    ++users[processor];
  };
  for (const int processor : order) {
    give(processor, *std::ranges::min_element(candidates.at(processor), {},
                                              [&](std::size_t rank) { return shares[rank].size(); }));
  }
  for (const std::size_t rank : ranks) {
    if (shares[rank].empty()) {
      give(*std::ranges::min_element(masks[rank], {}, [&](int processor) { return users[processor]; }), rank);
    }
    std::ranges::sort(shares[rank]);
  }
}

bool overlap(const std::vector<int>& left, const std::vector<int>& right) {
  return std::ranges::any_of(left,
                             [&](int processor) { return std::ranges::binary_search(right, processor); });
}

/// Returns for each rank r the smallest rank that is linked with r's mask by a chain of overlaps.
std::vector<std::size_t> overlap_groups(const Masks& masks) {
  std::vector<std::size_t> group(masks.size());
  for (std::size_t rank = 0; rank < masks.size(); ++rank) {
    group[rank] = rank;
    for (std::size_t other = 0; other < rank; ++other) {
      if (group[other] == group[rank] || !overlap(masks[other], masks[rank])) continue;
      const auto [kept, dropped] = std::minmax(group[other], group[rank]);
      std::replace(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(rank) + 1, std::size_t{dropped},
                   std::size_t{kept});
    }
  }
  return group;
}

}  // namespace

std::vector<std::vector<int>> share_processors(const std::vector<std::vector<int>>& masks) {
  for (const auto& mask : masks) require(!mask.empty(), "a rank has no processor to run on");
  const std::vector<std::size_t> group = overlap_groups(masks);
  Masks shares(masks.size());
  for (std::size_t first = 0; first < masks.size(); ++first) {
    if (group[first] != first) continue;
    std::vector<std::size_t> members;
    bool equal = true;
    for (std::size_t rank = first; rank < masks.size(); ++rank) {
      if (group[rank] != first) continue;
      members.push_back(rank);
      equal = equal && masks[rank] == masks[first];
    }
    if (equal) {
      share_equal_mask(masks[first], members, shares);
    } else {
      share_overlapping_masks(masks, members, shares);
    }
  }
  return shares;
}

std::vector<int> all_processors(const std::vector<std::vector<int>>& masks) {
  std::set<int> processors;
  for (const auto& mask : masks) processors.insert(mask.begin(), mask.end());
  return {processors.begin(), processors.end()};
}

int count_sharing_ranks(const std::vector<std::vector<int>>& shares) {
  std::map<int, int> users;
  for (const auto& share : shares) {
    for (const int processor : share) ++users[processor];
  }
  return static_cast<int>(std::ranges::count_if(shares, [&](const std::vector<int>& share) {
    return std::ranges::none_of(share, [&](int processor) { return users.at(processor) == 1; });
  }));
}

}  // namespace skyline::machine
