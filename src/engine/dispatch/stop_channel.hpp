#pragma once

#include "comm/communicator.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace skyline::engine {

/// Spreads a request to stop: the rank that sees it tells rank 0, and rank 0 tells all, beside the
/// collectives, so that nobody waits for a slow rank. At most one small message per rank and direction, and
/// one at the end, by which all know that no more will come. Made and closed by all ranks together; used by
/// the main thread.
class StopChannel {
 public:
  /// @param requested  whether this rank wants to stop; empty: never. `world` outlives the channel.
  StopChannel(comm::Communicator& world, std::function<bool()> requested);

  /// Whether the run stops: on rank 0 as soon as any rank wants it, on the others once rank 0 has said so.
  /// Never blocks; cheap on any number of ranks.
  bool poll();
  /// Waits until all other ranks have closed theirs, calling `check` between polls. Later requests have no
  /// effect.
  void close(const std::function<void()>& check);

 private:
  struct Peer {
    int rank = 0;
    std::byte inbox{};
    std::unique_ptr<comm::Request> receive;  // nullptr: the peer has closed
  };

  void listen(std::size_t most);
  void tell_all(const std::byte& message);

  comm::Communicator& world_;
  const std::function<bool()> requested_;
  const bool coordinator_;
  bool told_ = false;          // this rank passed the request on
  bool heard_ = false;         // another rank passed a request on
  std::size_t next_peer_ = 0;  // next peer to listen to
  std::vector<Peer> peers_;    // rank 0: all others; another rank: rank 0
  std::vector<std::unique_ptr<comm::Request>> sends_;
};

}  // namespace skyline::engine
