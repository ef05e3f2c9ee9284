#pragma once

#include "skyline/trial/place.hpp"
#include "skyline/trial/trial.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <utility>

namespace skyline::trial {

/// Thrown by every operation after a member of the group has given the trial up. It carries the reason, so
/// that all members end with the same outcome.
class GroupAborted : public std::exception {
 public:
  explicit GroupAborted(Failure failure) : failure_(std::move(failure)) {}
  const Failure& failure() const { return failure_; }
  const char* what() const noexcept override { return failure_.reason.c_str(); }

 private:
  Failure failure_;
};

/// The group of members that train one trial together, data-parallel, as one member sees it. Each member
/// trains its part (shard) of every batch on its own thread; a rank may have several members, a group several
/// ranks. The number of members belongs to the trial, their distribution over ranks does not: sums are made
/// along a fixed tree, so results have the same bits wherever the members are.
///
/// All members must call the same operations in the same order, each from its own thread. Every wait sleeps
/// or polls with a bounded pause. It throws GroupAborted if a member has aborted, or if a rank has shown no
/// heartbeat for 300 s. A member may be slow, because its rank gives heartbeats meanwhile.
class TrialGroup {
 public:
  /// A nonblocking operation. Its values must live until it is complete, or the group is aborted.
  class Operation {
   public:
    virtual ~Operation() = default;
    /// Returns whether the operation is complete. Never blocks; drives progress.
    virtual bool test() = 0;
    virtual void wait() = 0;
  };

  virtual ~TrialGroup() = default;
  virtual std::size_t members() const = 0;
  // this thread's member; member 0 leads: it saves, reports and measures
  virtual std::size_t member() const = 0;

  /// Returns the place where a member runs, without a message. Any thread may call it.
  virtual Place place_of(std::size_t /*member*/) const { return {}; }

  /// Gives every member the sum of all members' values. `values` has the same size everywhere.
  virtual std::unique_ptr<Operation> all_reduce(std::span<float> values) = 0;
  /// Gives each member its own shard_of() of that sum, with the bits of all_reduce; the rest becomes
  /// undefined.
  virtual std::unique_ptr<Operation> reduce_scatter(std::span<float> values) = 0;
  /// Gathers parts: each member gives its own shard_of() of the values and gets all others'.
  virtual std::unique_ptr<Operation> all_gather(std::span<float> values) = 0;

  /// Sums a few numbers (losses, counts, flags) over all members, blocking.
  virtual void sum(std::span<double> values) = 0;
  /// Copies member 0's bytes to every member; waits.
  virtual void broadcast(std::span<std::byte> bytes) = 0;

  /// Checks the group, for members that wait for something else, e.g. a device. May be called between any
  /// operations; never waits. @throws GroupAborted if a member has given the trial up
  virtual void check() = 0;
  /// Ends the trial for all members: their operations throw. Never throws, never waits.
  /// @param fault  a device or the connection of the members has failed: the trial has no result, and the run
  ///               must end
  virtual void abort(const Failure& failure, bool fault = false) noexcept = 0;
};

/// The values [begin, end) of one member. Parts begin at multiples of a cache line (16 floats).
struct Shard {
  std::size_t begin = 0;
  std::size_t end = 0;
};
inline Shard shard_of(std::size_t values, std::size_t members, std::size_t member) {
  constexpr std::size_t kLine = 16;
  const std::size_t lines = (values + kLine - 1) / kLine;
  const auto line_of = [&](std::size_t m) { return std::min(values, lines * m / members * kLine); };
  return {line_of(member), line_of(member + 1)};
}

}  // namespace skyline::trial
