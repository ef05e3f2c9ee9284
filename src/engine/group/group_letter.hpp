#pragma once

#include "skyline/trial/trial_group.hpp"

#include "comm/mailbox.hpp"
#include "engine/group/group_pieces.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace skyline::engine {

enum class GroupStep : std::uint8_t { kContribution, kResult, kAborted };

/// The first cache line of each letter between the ranks of a group.
struct alignas(64) GroupHeader {
  std::uint64_t sequence = 0;  // of the group
  std::uint64_t number = 0;    // of the operation in the group
  std::uint64_t bytes = 0;     // of the operation's values
  std::uint32_t piece = 0;
  std::uint32_t from = 0;  // index of the sender's rank in the group
  GroupCall call = GroupCall::kAllReduce;
  GroupStep step = GroupStep::kContribution;
  trial::FailureKind failure = trial::FailureKind::kException;  // of an abort; the payload is the reason
  bool fault = false;                                           // of an abort: see GroupHub::fault
};
static_assert(sizeof(GroupHeader) == 64);

/// Writes the header of a letter.
void write_header(const GroupHeader& header, comm::Parcel& letter);
/// Reads the header of a letter. @throws InternalError if it has none
GroupHeader header_of(const comm::Parcel& letter);
std::span<std::byte> payload_of(comm::Parcel& letter);
std::span<const std::byte> payload_of(const comm::Parcel& letter);

}  // namespace skyline::engine
