#pragma once

#include "comm/communicator.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace skyline::comm {

/// A message from another rank; valid until the next call of receive().
struct LinkMessage {
  int from = 0;
  std::span<const std::byte> bytes;
};

/// Small messages between rank 0 and each other rank, which never speak to one another. Messages between two
/// ranks arrive in the order of sending. Used by the rank's main thread; only close() waits.
class Link {
 public:
  virtual ~Link() = default;
  /// Copies the message. @param message  1 byte to as many as the link was made for
  virtual void send(int to, std::span<const std::byte> message) = 0;
  /// The next message that has arrived, if any. Drives the progress of all messages: call it again and again.
  virtual std::optional<LinkMessage> receive() = 0;
  /// Whether all messages have left this rank.
  virtual bool is_sent() const = 0;
  /// Whether MPI knows that the rank has died; few libraries can tell.
  virtual bool has_died(int /*rank*/) { return false; }
  /// Collective: when all messages have been received. Call before destruction, unless the process ends by an
  /// error.
  virtual void close() = 0;
};

/// Collective: a link on collective operations of `world`, which outlives it and is used for nothing else
/// until it is closed. Messages travel in waves: rank 0 broadcasts what will follow, scatters its messages,
/// and gathers those of the others, all as records of one size. A rank joins a wave when it has a message, or
/// after a pause, of a millisecond while there is traffic, so that no message waits for a rank without any.
/// @param most_bytes  of a message; the same on all ranks
std::unique_ptr<Link> make_collective_link(Communicator& world, std::size_t most_bytes);

}  // namespace skyline::comm
