#pragma once

#include "skyline/trial/trial_group.hpp"

#include "comm/mailbox.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace skyline::engine {

/// The place of a group: ranks, each with a block of consecutive members. The size of blocks is a power of
/// two; the last block may be smaller. So a rank's members are a whole branch of TrialGroup's tree, and sums
/// have the same bits for every distribution.
struct GroupPlace {
  std::uint64_t sequence = 0;  // greater than that of all earlier groups on each of its ranks
  std::size_t members = 1;
  /// Ranks of the world, as many as members divided by a power of two, rounded up. The first leads, and has
  /// member 0.
  std::vector<int> ranks = {0};

  /// Returns the members per rank; the last rank may have fewer.
  std::size_t block() const { return std::bit_ceil((members + ranks.size() - 1) / ranks.size()); }
  /// Return the first member on the rank `ranks[index]`, and how many members it has.
  std::size_t first_member(std::size_t index) const { return index * block(); }
  std::size_t members_of(std::size_t index) const {
    const std::size_t first = first_member(index);
    return members - first < block() ? members - first : block();
  }
  std::size_t rank_of(std::size_t member) const { return member / block(); }
};

template <typename Visit>
void for_each_field(GroupPlace& place, Visit& visit) {
  visit(place.sequence, place.members, place.ranks);
}

enum class GroupCall : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kSum, kBroadcast };
std::string_view name_of(GroupCall call);
/// Returns whether the call adds the members' values; otherwise it copies those of one member.
constexpr bool adds(GroupCall call) {
  return call != GroupCall::kAllGather && call != GroupCall::kBroadcast;
}

/// A range of an operation's values that is handled separately: every rank sends its values to the owner, who
/// finishes the piece and, if the call needs it, sends the result to all.
struct GroupPiece {
  static constexpr std::size_t kEveryone = ~std::size_t{0};
  std::size_t begin = 0;  // bytes
  std::size_t end = 0;    // bytes
  std::size_t owner = 0;  // index of a rank of the group; kEveryone: each rank gets all values, and adds them
  std::size_t member = 0;  // the member to whose part it belongs, if the call has parts or a source
};

/// Cuts an operation into pieces, the same on all ranks: at most kMostPieceBytes each, at multiples of a
/// cache line. Owners take turns, so that all have work from the start.
std::vector<GroupPiece> cut_into_pieces(GroupCall call, std::size_t bytes, const GroupPlace& place);

/// Largest piece; with the header of a message it is a power of two.
constexpr std::size_t kMostPieceBytes = (std::size_t{1} << 18U) - 64;

/// Adds the terms along the tree of TrialGroup: at distance 1, 2, 4, ... term(i) + term(i + distance). Local;
/// the same bits on every machine.
/// @param terms    `count` values each
/// @param results  receive the sum, `count` values each; they may be among the terms
void add_along_tree(std::span<const float* const> terms, std::size_t count, std::span<float* const> results);
void add_along_tree(std::span<const double* const> terms, std::size_t count,
                    std::span<double* const> results);

/// The kinds of messages. kAlive is a heartbeat of a rank whose members compute.
enum class GroupStep : std::uint8_t { kContribution, kResult, kAborted, kAlive };

/// The first cache line of each message between the ranks of a group.
struct alignas(64) GroupHeader {
  std::uint64_t sequence = 0;  // number of the group
  std::uint64_t number = 0;    // number of the operation in the group
  std::uint64_t bytes = 0;     // size of the operation's values
  std::uint32_t piece = 0;
  std::uint32_t from = 0;  // index of the sender's rank in the group
  GroupCall call = GroupCall::kAllReduce;
  GroupStep step = GroupStep::kContribution;
  trial::FailureKind failure = trial::FailureKind::kException;  // kind of an abort; the payload is its reason
  bool fault = false;                                           // whether an abort is a GroupHub::fault
};
static_assert(sizeof(GroupHeader) == 64);

void write_header(const GroupHeader& header, comm::Buffer& message);
/// Reads the header of a message. @throws InternalError if it has none
GroupHeader header_of(const comm::Buffer& message);
std::span<std::byte> payload_of(comm::Buffer& message);
std::span<const std::byte> payload_of(const comm::Buffer& message);

}  // namespace skyline::engine
