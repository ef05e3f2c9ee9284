#include "engine/group/group_pieces.hpp"

#include "skyline/core/error.hpp"
#include "skyline/trial/trial_group.hpp"

#include <algorithm>

namespace skyline::engine {
namespace {

/// Size up to which sending everything to everyone costs less than the way to the owner and back.
std::size_t most_bytes_for_everyone(std::size_t ranks) {
  return ranks == 2 ? 32'768 : 8192;
}

/// Part `part` of bytes, cut like the floats of TrialGroup.
GroupPiece part_piece(std::size_t bytes, std::size_t parts, std::size_t part) {
  const auto cut = trial::part_of(bytes / sizeof(float), parts, part);
  return {cut.begin * sizeof(float), cut.end * sizeof(float), 0, 0};
}

/// Cuts one large piece per owner, in order.
std::vector<GroupPiece> cut_by_owner(GroupCall call, std::size_t bytes, const GroupPlace& place) {
  const auto ranks = static_cast<std::size_t>(place.ranks);
  std::vector<GroupPiece> pieces;
  switch (call) {
    case GroupCall::kBroadcast:
      return {{0, bytes, 0, 0}};
    case GroupCall::kReduceScatter:
    case GroupCall::kAllGather:
      for (std::size_t member = 0; member < place.members; ++member) {
        pieces.push_back(part_piece(bytes, place.members, member));
        pieces.back().owner = place.rank_of(member);
        pieces.back().member = member;
      }
      return pieces;
    case GroupCall::kAllReduce:
    case GroupCall::kSum:
      break;
  }
  if (ranks > 1 && bytes <= most_bytes_for_everyone(ranks)) {
    return {{0, bytes, GroupPiece::kEveryone, 0}};
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    pieces.push_back(part_piece(bytes, ranks, rank));
    pieces.back().owner = rank;
  }
  return pieces;
}

}  // namespace

std::string_view name_of(GroupCall call) {
  switch (call) {
    case GroupCall::kAllReduce:
      return "all_reduce";
    case GroupCall::kReduceScatter:
      return "reduce_scatter";
    case GroupCall::kAllGather:
      return "all_gather";
    case GroupCall::kSum:
      return "sum";
    case GroupCall::kBroadcast:
      return "broadcast";
  }
  throw InternalError("unknown call of a group");
}

std::vector<GroupPiece> cut_into_pieces(GroupCall call, std::size_t bytes, const GroupPlace& place) {
  const std::vector<GroupPiece> whole = cut_by_owner(call, bytes, place);
  std::vector<GroupPiece> pieces;
  bool more = true;
  for (std::size_t offset = 0; more; offset += kMostPieceBytes) {
    more = false;
    for (const GroupPiece& from : whole) {
      const std::size_t begin = from.begin + offset;
      if (begin >= from.end) continue;
      pieces.push_back({begin, std::min(from.end, begin + kMostPieceBytes), from.owner, from.member});
      more = true;
    }
  }
  return pieces;
}

}  // namespace skyline::engine
