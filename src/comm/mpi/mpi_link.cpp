#include "comm/mpi/mpi_link.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"

#include <algorithm>
#include <utility>

namespace skyline::comm {
namespace {

constexpr std::size_t kReceives = 32;    // number of receives that are posted at a time
constexpr std::size_t kTestsACall = 16;  // number of unfinished sends that a call tests
constexpr int kLinkTag = 0;
constexpr int kWatchTag = 1;

void cancel(MPI_Request& receive) {
  if (receive == MPI_REQUEST_NULL) return;
  MPI_Status status;
  check_mpi(MPI_Cancel(&receive), "MPI_Cancel");
  check_mpi(MPI_Wait(&receive, &status), "MPI_Wait");
  int cancelled = 0;
  check_mpi(MPI_Test_cancelled(&status, &cancelled), "MPI_Test_cancelled");
  require(cancelled != 0, "a link is closed while a message is on its way");
}

}  // namespace

std::unique_ptr<MpiLink> MpiLink::duplicate(MPI_Comm original, std::size_t most_bytes) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(original, &copy), "MPI_Comm_dup");
  return std::make_unique<MpiLink>(CommunicatorHandle(copy), most_bytes);
}

MpiLink::MpiLink(CommunicatorHandle handle, std::size_t most_bytes)
    : handle_(std::move(handle)),
      most_bytes_(most_bytes),
      receives_(kReceives, MPI_REQUEST_NULL),
      inboxes_(kReceives * most_bytes) {
  for (std::size_t i = 0; i < kReceives; ++i) post(i);
}

MpiLink::~MpiLink() {
  // Without close() messages may still be on their way. The process is about to end, and MPI keeps its
  // buffers until then.
  if (closed_) return;
  handle_.release();
  new std::vector<std::byte>(std::move(inboxes_));
  new std::deque<Outgoing>(std::move(outgoing_));
}

void MpiLink::post(std::size_t receive) {
  check_mpi(MPI_Irecv(inbox(receive).data(), static_cast<int>(most_bytes_), MPI_BYTE, MPI_ANY_SOURCE,
                      kLinkTag, handle_.get(), &receives_[receive]),
            "MPI_Irecv");
}

void MpiLink::send(int to, std::span<const std::byte> message) {
  require(!message.empty() && message.size() <= most_bytes_,
          "a message of a size that the link does not take");
  Outgoing& outgoing = outgoing_.emplace_back();
  outgoing.bytes.assign(message.begin(), message.end());
  check_mpi(MPI_Isend(outgoing.bytes.data(), static_cast<int>(message.size()), MPI_BYTE, to, kLinkTag,
                      handle_.get(), &outgoing.request),
            "MPI_Isend");
}

std::optional<LinkMessage> MpiLink::receive() {
  if (std::exchange(is_read_, false)) {
    post(next_);
    next_ = (next_ + 1) % kReceives;
  }
  test_outgoing();
  // Once a rank has died, MPI_Test fails in Open MPI with ULFM, because the message might be from that rank.
  int done = 0;
  check_mpi(MPI_Request_get_status(receives_[next_], &done, MPI_STATUS_IGNORE), "MPI_Request_get_status");
  if (done == 0) return std::nullopt;
  MPI_Status status;
  check_mpi(MPI_Wait(&receives_[next_], &status), "MPI_Wait");
  int bytes = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  is_read_ = true;
  return LinkMessage{status.MPI_SOURCE, inbox(next_).first(static_cast<std::size_t>(bytes))};
}

/// Tests a few sends; an unfinished one moves to the end of the queue.
void MpiLink::test_outgoing() {
  for (std::size_t count = std::min(kTestsACall, outgoing_.size()); count > 0; --count) {
    Outgoing first = std::move(outgoing_.front());
    outgoing_.pop_front();
    if (state_of(first.request) == RequestState::kUnderWay) outgoing_.push_back(std::move(first));
  }
}

bool MpiLink::has_died(int rank) {
  const auto [watch, is_new] = watches_.try_emplace(rank, MPI_REQUEST_NULL);
  if (is_new) {
    check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, rank, kWatchTag, handle_.get(), &watch->second), "MPI_Irecv");
  }
  return state_of(watch->second) != RequestState::kUnderWay;
}

void MpiLink::close() {
  for (Backoff backoff; !outgoing_.empty(); backoff.pause()) test_outgoing();
  for (MPI_Request& receive : receives_) cancel(receive);
  for (auto& [rank, watch] : watches_) cancel(watch);
  closed_ = true;
}

}  // namespace skyline::comm
