#pragma once

#include "comm/communicator.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace skyline::comm {

/// A message from another rank. Its bytes are valid until the next call of receive().
struct LinkMessage {
  int from = 0;
  std::span<const std::byte> bytes;
};

/// Small messages between rank 0 and each other rank; a link of Environment::make_link also takes those
/// between others. Messages between two ranks arrive in the order of sending. One thread uses it. Only
/// close() waits.
class Link {
 public:
  virtual ~Link() = default;
  /// Sends a copy of the message.
  /// @param message  from 1 byte to the size for which the link was made
  virtual void send(int to, std::span<const std::byte> message) = 0;
  /// Returns the next message that has arrived, if any. Drives all messages, so call it often.
  virtual std::optional<LinkMessage> receive() = 0;
  /// Returns whether all messages have left this rank.
  virtual bool is_sent() const = 0;
  /// Returns whether MPI knows that the rank has died. Few libraries can know.
  virtual bool has_died(int /*rank*/) { return false; }
  /// Returns when all messages have been received. Call it before destruction, unless the process ends by an
  /// error. Collective.
  virtual void close() = 0;
};

/// Makes a link on collective operations of `world`, which must outlive it and must be used for nothing else
/// until it is closed. Messages travel in waves: rank 0 broadcasts what will follow, scatters its messages,
/// and gathers those of the others, all as records of one size. A rank joins a wave when it has a message, or
/// after a pause, so that no message waits for a rank without any. The pause is a millisecond while there is
/// traffic. Collective.
/// @param most_bytes  largest size of a message; the same on all ranks
std::unique_ptr<Link> make_collective_link(Communicator& world, std::size_t most_bytes);

}  // namespace skyline::comm
