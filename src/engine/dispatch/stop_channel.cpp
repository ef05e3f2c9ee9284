#include "engine/dispatch/stop_channel.hpp"

#include "core/backoff.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace skyline::engine {
namespace {

// Static memory for messages, which may be unfinished until the end of the run.
constexpr std::byte kStop{1};
constexpr std::byte kBye{2};

/// Peers per poll: rank 0 hears any of 512 within a third of a second, and its loop stays cheap.
constexpr std::size_t kPeersAPoll = 16;

}  // namespace

StopChannel::StopChannel(comm::Communicator& world, std::function<bool()> requested)
    : world_(world), requested_(std::move(requested)), coordinator_(world.rank() == 0) {
  const int first = coordinator_ ? 1 : 0;
  const int last = coordinator_ ? world.size() : 1;
  for (int rank = first; rank < last; ++rank) peers_.push_back({rank, {}, nullptr});
  for (Peer& peer : peers_) peer.receive = world_.receive(std::span(&peer.inbox, 1), peer.rank);
}

bool StopChannel::poll() {
  listen(kPeersAPoll);
  const bool wanted = heard_ ? coordinator_ : requested_ && requested_();
  if (wanted && !told_) {
    told_ = true;
    tell_all(kStop);
  }
  return coordinator_ ? told_ : heard_;
}

void StopChannel::listen(std::size_t most) {
  for (std::size_t count = std::min(most, peers_.size()); count > 0; --count) {
    Peer& peer = peers_[next_peer_];
    next_peer_ = (next_peer_ + 1) % peers_.size();
    if (!peer.receive || !peer.receive->test()) continue;
    peer.receive.reset();
    if (peer.inbox == kBye) continue;
    heard_ = true;
    peer.receive = world_.receive(std::span(&peer.inbox, 1), peer.rank);
  }
}

void StopChannel::tell_all(const std::byte& message) {
  for (const Peer& peer : peers_) sends_.push_back(world_.send(std::span(&message, 1), peer.rank));
}

void StopChannel::close(const std::function<void()>& check) {
  tell_all(kBye);
  const auto closed = [this] {
    listen(peers_.size());
    std::erase_if(sends_, [](const auto& send) { return send->test(); });
    return sends_.empty() && std::ranges::all_of(peers_, [](const Peer& peer) { return !peer.receive; });
  };
  for (Backoff backoff; !closed(); backoff.pause()) check();
}

}  // namespace skyline::engine
