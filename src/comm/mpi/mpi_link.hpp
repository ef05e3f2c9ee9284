#pragma once

#include "comm/link.hpp"
#include "comm/mpi/mpi_communicator.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <mpi.h>

namespace skyline::comm {

/// A link of point-to-point messages on a communicator that it owns. Receives are posted in advance, from any
/// rank: messages match them in the order of sending. A message below MPI's eager limit, mostly 4 KB, is sent
/// at once. Results are that small, so a rank that dies leaves none half received.
class MpiLink final : public Link {
 public:
  /// Makes a link on a duplicate of `original`, with its error handler. Collective.
  static std::unique_ptr<MpiLink> duplicate(MPI_Comm original, std::size_t most_bytes);
  MpiLink(CommunicatorHandle handle, std::size_t most_bytes);
  MpiLink(const MpiLink&) = delete;
  MpiLink& operator=(const MpiLink&) = delete;
  ~MpiLink() override;

  void send(int to, std::span<const std::byte> message) override;
  std::optional<LinkMessage> receive() override;
  bool is_sent() const override { return outgoing_.empty(); }
  bool has_died(int rank) override;
  void close() override;

 private:
  struct Outgoing {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<std::byte> bytes;
  };
  std::span<std::byte> inbox(std::size_t receive) {
    return std::span(inboxes_).subspan(receive * most_bytes_, most_bytes_);
  }
  void post(std::size_t receive);
  void test_outgoing();

  CommunicatorHandle handle_;
  const std::size_t most_bytes_;
  std::vector<MPI_Request> receives_;  // a ring of posted receives, matched in its order
  std::vector<std::byte> inboxes_;     // buffers of the receives
  std::size_t next_ = 0;               // index of the receive that is matched next
  bool is_read_ = false;               // the caller may still read the buffer of the receive at next_
  std::deque<Outgoing> outgoing_;
  std::map<int, MPI_Request> watches_;  // receives that no rank answers: they end when the rank dies
  bool closed_ = false;
};

}  // namespace skyline::comm
