#pragma once

#include "core/backoff.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace skyline::comm {

inline constexpr int kCoordinator = 0;  // the rank that searches, and speaks for all

/// A nonblocking operation. Destroying an unfinished one is an InternalError (the buffers must outlive it).
class Request {
 public:
  virtual ~Request() = default;
  /// Whether the operation is complete; never blocks; drives progress.
  virtual bool test() = 0;
};

/// Ranks that work together. Engine and tests see this interface only; one implementation is MPI, the other a
/// single process without MPI. All operations are nonblocking, collective and matched by the order of calls;
/// buffers belong to the caller and must live until the request is complete. Used by one thread, the rank's
/// main thread.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// `bytes` has the same size on every rank.
  virtual std::unique_ptr<Request> broadcast(std::span<std::byte> bytes, int root) = 0;
  /// `all` is [size x mine.size()] on root, empty elsewhere; `mine` has the same size on every rank.
  virtual std::unique_ptr<Request> scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                                           int root) = 0;
  virtual std::unique_ptr<Request> gather(std::span<const std::byte> mine, std::span<std::byte> all,
                                          int root) = 0;
  virtual std::unique_ptr<Request> barrier() = 0;

  /// Point to point, on a channel separate from the collectives; messages between two ranks arrive in the
  /// order of sending. For small messages (not weights): one may stay unfinished until it is received.
  virtual std::unique_ptr<Request> send(std::span<const std::byte> bytes, int to) = 0;
  /// @param bytes  as many as were sent
  virtual std::unique_ptr<Request> receive(std::span<std::byte> bytes, int from) = 0;
};

/// Polls with a growing pause until the request is complete.
inline void wait(Request& request) {
  Backoff backoff;
  while (!request.test()) backoff.pause();
}

}  // namespace skyline::comm
