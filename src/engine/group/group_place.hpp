#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace skyline::engine {

/// The place of a group: consecutive ranks, each with a block of consecutive members. The size of blocks is a
/// power of two, the last may be smaller: so a rank's members are a whole branch of TrialGroup's tree, and
/// sums have the same bits for every spread.
struct GroupPlace {
  std::uint64_t sequence = 0;  // greater than that of all groups before, on each of its ranks
  std::size_t members = 1;
  int first_rank = 0;  // of the world; leads: holds member 0
  int ranks = 1;       // members divided by a power of two, rounded up

  /// Members per rank; the last rank may have fewer.
  std::size_t block() const {
    const auto count = static_cast<std::size_t>(ranks);
    return std::bit_ceil((members + count - 1) / count);
  }
  /// Members of the rank `first_rank + index`.
  std::size_t first_member(std::size_t index) const { return index * block(); }
  std::size_t members_of(std::size_t index) const {
    const std::size_t first = first_member(index);
    return members - first < block() ? members - first : block();
  }
  /// Index of the rank that holds a member.
  std::size_t rank_of(std::size_t member) const { return member / block(); }
};

}  // namespace skyline::engine
