#pragma once

#include "comm/communicator.hpp"
#include "core/record.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace skyline::comm {

// Agreements of a job's ranks, at its start and at its end. Each call is collective and blocks: every rank
// makes the same calls in the same order, from its main thread. All ranks get the same answer,
// except from gather(). A value is a plain one, a text, or what core/record.hpp makes a record of.

inline constexpr std::size_t kMostSharedBytes = std::size_t{64} << 20;   // of a record
inline constexpr std::size_t kMostGatheredBytes = std::size_t{1} << 20;  // of each rank's record

/// Rank 0's record on every rank, and every rank's on rank 0; for share() and gather().
/// @throws InternalError if a record is longer than above
std::string share_record(Communicator& world, std::string record);
std::vector<std::string> gather_records(Communicator& world, std::string record);

/// Rank 0's value. @param value  of rank 0; what the others pass does not matter
template <typename Value>
Value share(Communicator& world, Value value) {
  if constexpr (PlainValue<Value>) {
    wait(*world.broadcast(std::as_writable_bytes(std::span(&value, 1)), 0));
    return value;
  } else {
    return from_record<Value>(share_record(world, world.rank() == 0 ? to_record(value) : ""));
  }
}

/// Every rank's value on rank 0, by rank; nothing elsewhere.
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

/// Whether `here` holds on at least one rank.
bool any(Communicator& world, bool here);

/// The problem of the first rank that has one; empty if all ranks are ready.
/// @param here       why this rank cannot go on, one line; empty: it can
/// @param signature  of this rank, in front of its problem unless all ranks have the same one
std::string first_problem(Communicator& world, const std::string& here, const std::string& signature = "");

}  // namespace skyline::comm
