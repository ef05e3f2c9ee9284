#pragma once

#include "engine/group/group_place.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace skyline::engine {

/// The operations of TrialGroup.
enum class GroupCall : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kSum, kBroadcast };
std::string_view name_of(GroupCall call);
/// Whether the members' values are added; otherwise one member's are copied.
constexpr bool adds(GroupCall call) {
  return call != GroupCall::kAllGather && call != GroupCall::kBroadcast;
}

/// A range of an operation's values that goes its way alone: every rank sends what it has to the owner, who
/// finishes it and, if the call says so, sends the result to all.
struct GroupPiece {
  static constexpr std::size_t kEveryone = ~std::size_t{0};
  std::size_t begin = 0;  // bytes
  std::size_t end = 0;    // bytes
  std::size_t owner = 0;  // index of a rank of the group; kEveryone: each rank gets all values, and adds them
  std::size_t member = 0;  // whose part it is, where the call has parts or a source
};

/// The pieces of an operation, the same on all ranks. At most kMostPieceBytes each, at multiples of a cache
/// line; the owners take turns, so that all have work from the start.
std::vector<GroupPiece> cut_into_pieces(GroupCall call, std::size_t bytes, const GroupPlace& place);

/// With the header of a letter it is a power of two.
constexpr std::size_t kMostPieceBytes = (std::size_t{1} << 18U) - 64;

}  // namespace skyline::engine
