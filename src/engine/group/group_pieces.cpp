#include "engine/group/group_pieces.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace skyline::engine {
namespace {

/// Returns the size up to which sending everything to everyone costs less than the way to the owner and back.
std::size_t most_bytes_for_everyone(std::size_t ranks) {
  return ranks == 2 ? 32'768 : 8192;
}

/// Returns part `part` of bytes, which are cut like the floats of TrialGroup.
GroupPiece part_piece(std::size_t bytes, std::size_t parts, std::size_t part) {
  const auto cut = trial::shard_of(bytes / sizeof(float), parts, part);
  return {cut.begin * sizeof(float), cut.end * sizeof(float), 0, 0};
}

/// Cuts one large piece per owner, in order.
std::vector<GroupPiece> cut_by_owner(GroupCall call, std::size_t bytes, const GroupPlace& place) {
  const std::size_t ranks = place.ranks.size();
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
  if (ranks > 1 && bytes <= most_bytes_for_everyone(ranks)) return {{0, bytes, GroupPiece::kEveryone, 0}};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    pieces.push_back(part_piece(bytes, ranks, rank));
    pieces.back().owner = rank;
  }
  return pieces;
}

constexpr std::size_t kBlock = 1024;  // small enough that all operands stay in the first-level cache

/// Adds two arrays; the sum may be one of them.
template <typename T>
void add(const T* left, const T* right, T* sum, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

/// Returns the place of the block's sum: `sum`, or the term itself if there is only one.
template <typename T>
const T* add_block(std::span<const T* const> terms, std::size_t at, std::size_t count, T* sum) {
  if (terms.size() == 1) return terms[0] + at;
  const std::size_t left_terms = std::bit_floor(terms.size() - 1);
  std::array<T, kBlock> left_sum;
  std::array<T, kBlock> right_sum;
  const T* left = add_block(terms.first(left_terms), at, count, left_sum.data());
  const T* right = add_block(terms.subspan(left_terms), at, count, right_sum.data());
  add(left, right, sum, count);
  return sum;
}

template <typename T>
void add_blocks(std::span<const T* const> terms, std::size_t count, std::span<T* const> results) {
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t block = std::min(kBlock, count - at);
    const T* sum = add_block(terms, at, block, results[0] + at);
    for (T* const result : results) {
      if (result + at != sum) std::copy_n(sum, block, result + at);
    }
  }
}

}  // namespace

std::string_view name_of(GroupCall call) {
  constexpr std::array<std::string_view, 5> kNames{"all_reduce", "reduce_scatter", "all_gather", "sum",
                                                   "broadcast"};
  return kNames.at(static_cast<std::size_t>(call));
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

void add_along_tree(std::span<const float* const> terms, std::size_t count, std::span<float* const> results) {
  add_blocks<float>(terms, count, results);
}

void add_along_tree(std::span<const double* const> terms, std::size_t count,
                    std::span<double* const> results) {
  add_blocks<double>(terms, count, results);
}

void write_header(const GroupHeader& header, comm::Buffer& message) {
  std::memcpy(message.bytes().data(), &header, sizeof(header));
}

GroupHeader header_of(const comm::Buffer& message) {
  require(message.bytes().size() >= sizeof(GroupHeader), "a message of a group has no header");
  GroupHeader header;
  std::memcpy(&header, message.bytes().data(), sizeof(header));
  return header;
}

std::span<std::byte> payload_of(comm::Buffer& message) {
  return message.bytes().subspan(sizeof(GroupHeader));
}

std::span<const std::byte> payload_of(const comm::Buffer& message) {
  return message.bytes().subspan(sizeof(GroupHeader));
}

}  // namespace skyline::engine
