#pragma once

#include "comm/communicator.hpp"
#include "core/record.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::comm {

// Agreements among the ranks of a job, at its start and at its end. Each call is collective and blocks: every
// rank makes the same calls in the same order, from its main thread. All ranks get the same answer, except
// from gather(). A value is a plain value, a text, or a type that core/record.hpp can turn into a record.

inline constexpr std::size_t kMostSharedBytes = std::size_t{64} << 20;   // limit for a shared record
inline constexpr std::size_t kMostGatheredBytes = std::size_t{1} << 20;  // limit for the record of each rank

/// share_record() returns rank 0's record on every rank. gather_records() returns every rank's record on rank
/// 0. Used by share() and gather(). @throws InternalError if a record is longer than the limits above
std::string share_record(Communicator& world, std::string record);
std::vector<std::string> gather_records(Communicator& world, std::string record);

/// Returns rank 0's value on every rank.
/// @param value  rank 0's value; other ranks may pass anything
template <typename Value>
Value share(Communicator& world, Value value) {
  if constexpr (PlainValue<Value>) {
    wait(*world.broadcast(std::as_writable_bytes(std::span(&value, 1)), 0));
    return value;
  } else {
    return from_record<Value>(share_record(world, world.rank() == 0 ? to_record(value) : ""));
  }
}

/// Returns the values of all ranks, by rank, on rank 0, and an empty list on other ranks.
template <typename Value>
std::vector<Value> gather(Communicator& world, const Value& mine) {
  if constexpr (PlainValue<Value>) {
    std::vector<Value> all(world.rank() == 0 ? static_cast<std::size_t>(world.size()) : 0);
    wait(*world.gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), 0));
    return all;
  } else {
    std::vector<Value> all;
    for (const std::string& record : gather_records(world, to_record(mine))) {
      all.push_back(from_record<Value>(record));
    }
    return all;
  }
}

/// Returns whether `here` is true on at least one rank.
bool any(Communicator& world, bool here);

/// Returns whether all ranks have the same text. Only checksums travel, so the text may have any length.
bool same_everywhere(Communicator& world, std::string_view text);

/// Returns the problem of the first rank that has one, or an empty text if all ranks are ready.
/// @param here       one line that says why this rank cannot continue; empty if it can
/// @param signature  name of this rank, written before its problem unless all ranks have the same one
std::string first_problem(Communicator& world, const std::string& here, const std::string& signature = "");

}  // namespace skyline::comm
