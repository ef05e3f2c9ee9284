#pragma once

#include "comm/communicator.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace skyline::comm {

// Agreements of a job's ranks, at its start and at its end. Each call is collective and blocks: every rank
// makes the same calls in the same order, from its main thread. All ranks get the same answer,
// except from gather().

/// Values that mean the same on another rank, byte for byte.
template <typename Value>
concept PlainValue = std::is_trivially_copyable_v<Value> && !std::is_pointer_v<Value>;

/// Rank 0's value. @param value  of rank 0; what the others pass does not matter
template <PlainValue Value>
Value share(Communicator& world, Value value) {
  wait(*world.broadcast(std::as_writable_bytes(std::span(&value, 1)), 0));
  return value;
}
std::string share(Communicator& world, std::string text);

/// Every rank's value on rank 0, by rank; nothing elsewhere.
template <PlainValue Value>
std::vector<Value> gather(Communicator& world, const Value& mine) {
  std::vector<Value> all(world.rank() == 0 ? static_cast<std::size_t>(world.size()) : 0);
  wait(*world.gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), 0));
  return all;
}

/// Whether `here` holds on at least one rank.
bool any(Communicator& world, bool here);

/// The problem of the first rank that has one; empty if all ranks are ready.
/// @param here       why this rank cannot go on, one line; empty: it can
/// @param signature  of this rank, in front of its problem unless all ranks have the same one
std::string first_problem(Communicator& world, const std::string& here, const std::string& signature = "");

}  // namespace skyline::comm
