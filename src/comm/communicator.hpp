#pragma once

#include "core/backoff.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace skyline::comm {

inline constexpr int kCoordinator = 0;  // the rank that searches and gives orders

/// A nonblocking operation. Destroying an unfinished one is an InternalError: its buffers must outlive it.
class Request {
 public:
  virtual ~Request() = default;
  /// Returns whether the operation is complete. Never blocks; drives progress.
  virtual bool test() = 0;
};

/// Ranks that work together. The engine and the tests see only this interface; one implementation is MPI, the
/// other a single process without MPI. All operations are nonblocking and collective, and are matched by the
/// order of calls. Buffers belong to the caller and must live until the request is complete. Only the rank's
/// main thread may use it.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Sends root's bytes to all ranks. `bytes` has the same size on every rank.
  virtual std::unique_ptr<Request> broadcast(std::span<std::byte> bytes, int root) = 0;
  /// Sends each rank its part of `all`. `all` is [size x mine.size()] on root and empty elsewhere; `mine` has
  /// the same size on every rank.
  virtual std::unique_ptr<Request> scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                                           int root) = 0;
  virtual std::unique_ptr<Request> gather(std::span<const std::byte> mine, std::span<std::byte> all,
                                          int root) = 0;
  virtual std::unique_ptr<Request> barrier() = 0;

  /// Sends a message to one rank, on a channel separate from the collectives. Messages between two ranks
  /// arrive in the order of sending. Meant for small messages, not for weights: a send may stay unfinished
  /// until the message is received.
  virtual std::unique_ptr<Request> send(std::span<const std::byte> bytes, int to) = 0;
  /// Receives a message from one rank.
  /// @param bytes  must have the size of the message
  virtual std::unique_ptr<Request> receive(std::span<std::byte> bytes, int from) = 0;
};

/// Polls, with growing pauses, until the request is complete.
inline void wait(Request& request) {
  Backoff backoff;
  while (!request.test()) backoff.pause();
}

}  // namespace skyline::comm
