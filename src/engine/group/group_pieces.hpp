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
/// Whether the call adds the members' values; otherwise it copies those of one member.
constexpr bool adds(GroupCall call) {
  return call != GroupCall::kAllGather && call != GroupCall::kBroadcast;
}

/// A range of an operation's values that is handled by itself: every rank sends its values to the owner, who
/// finishes the piece and, if the call needs it, sends the result to all.
struct GroupPiece {
  static constexpr std::size_t kEveryone = ~std::size_t{0};
  std::size_t begin = 0;  // bytes
  std::size_t end = 0;    // bytes
  std::size_t owner = 0;  // index of a rank of the group; kEveryone: each rank gets all values, and adds them
  std::size_t member = 0;  // the member whose part it is, if the call has parts or a source
};

/// Cuts an operation into pieces, the same on all ranks: at most kMostPieceBytes each, at multiples of a
/// cache line. Owners take turns, so that all have work from the start.
std::vector<GroupPiece> cut_into_pieces(GroupCall call, std::size_t bytes, const GroupPlace& place);

/// Largest piece; with the header of a letter it is a power of two.
constexpr std::size_t kMostPieceBytes = (std::size_t{1} << 18U) - 64;

}  // namespace skyline::engine
