#pragma once

#include "core/system/open_file.hpp"

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace skyline::evaluate {

/// Ports [first, end).
struct PortRange {
  int first = 0;
  int end = 0;
  int size() const { return end > first ? end - first : 0; }
  bool operator==(const PortRange&) const = default;
};

/// Returns the ports that the system gives to connections by itself, from
/// /proc/sys/net/ipv4/ip_local_port_range; its default if the file cannot be read.
PortRange ephemeral_ports();
/// Returns the ports for trials if the user names none: 8,192 below the ephemeral ones, or as many as are
/// there from 1024 on.
PortRange default_ports(const PortRange& ephemeral);
/// Returns the block of one of the ranks of a node, which share the range evenly. Blocks do not overlap.
/// @pre 0 <= node_rank < node_ranks
PortRange ports_of_rank(const PortRange& range, int node_rank, int node_ranks);

/// A port that is taken. It can be taken again when the object ends.
class TakenPort {
 public:
  int number() const { return number_; }

 private:
  friend class PortBlock;
  TakenPort(int number, FileDescriptor claim) : number_(number), claim_(std::move(claim)) {}

  int number_;
  FileDescriptor claim_;
};

/// The ports of a rank for its trials. Any thread may call it.
class PortBlock {
 public:
  explicit PortBlock(const PortRange& range) : range_(range), next_(range.first) {}

  /// Takes a port on which nobody listens, and which no other trial on this host has: other ranks and other
  /// jobs respect it too. It takes each in turn, so a port rests as long as possible after its use.
  /// @throws FaultError if none is free
  TakenPort acquire();

 private:
  const PortRange range_;
  std::mutex mutex_;  // guards the member below
  int next_;
};

/// The processors of a rank, of which each process of a trial gets some of its own as long as there are
/// enough. Any thread may use it.
class ProcessorShares {
 public:
  /// Some processors until the object's end.
  class Share {
   public:
    Share(ProcessorShares& owner, std::vector<int> processors)
        : owner_(owner), processors_(std::move(processors)) {}
    ~Share() { owner_.give_back(processors_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    const std::vector<int>& processors() const { return processors_; }

   private:
    ProcessorShares& owner_;
    std::vector<int> processors_;  // ascending
  };

  explicit ProcessorShares(std::vector<int> processors);
  /// Takes the `count` processors that the fewest others use; all if there are not so many.
  Share acquire(std::size_t count);

 private:
  struct Processor {
    int number = 0;
    int users = 0;
  };
  void give_back(const std::vector<int>& processors);

  std::mutex mutex_;
  std::vector<Processor> processors_;  // guarded by the mutex
};

}  // namespace skyline::evaluate
