#include "comm/mpi/mpi_mailbox.hpp"

#include "skyline/core/error.hpp"

#include "comm/mpi/mpi_communicator.hpp"
#include "core/backoff.hpp"

#include <limits>
#include <set>
#include <utility>

namespace skyline::comm {
namespace {

constexpr int kMessageTag = 0;
constexpr int kNoticeTag = 1;

}  // namespace

std::unique_ptr<MpiMailbox> MpiMailbox::duplicate(MPI_Comm original) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(original, &copy), "MPI_Comm_dup");
  return std::make_unique<MpiMailbox>(CommunicatorHandle(copy));
}

MpiMailbox::MpiMailbox(CommunicatorHandle handle) : handle_(std::move(handle)), slots_(handle_.get()) {
  check_mpi(MPI_Comm_rank(handle_.get(), &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(handle_.get(), &size_), "MPI_Comm_size");
}

MpiMailbox::~MpiMailbox() {
  // Without close() others may be in the middle of a message to or from this rank. The process is about to
  // end, and MPI keeps its buffers until then.
  if (closed_) return;
  handle_.release();
  slots_.abandon();
  new std::list<Outgoing>(std::move(outgoing_));
  new std::list<Incoming>(std::move(incoming_));
}

std::shared_ptr<Buffer> MpiMailbox::acquire(std::size_t size) {
  auto shared = slots_.acquire(size);
  return shared ? shared : pool_.acquire(size);
}

void MpiMailbox::send(std::shared_ptr<const Buffer> buffer, int to) {
  const auto notice = slots_.lend(*buffer, to);
  const std::size_t bytes = notice ? 0 : buffer->bytes().size();
  require(bytes <= static_cast<std::size_t>(std::numeric_limits<int>::max()),
          "a message is too large for MPI");
  const std::lock_guard lock(mutex_);
  Outgoing& message = outgoing_.emplace_back();
  if (notice) {
    message.notice = *notice;
    check_mpi(MPI_Isend(&message.notice, sizeof(SlotNotice), MPI_BYTE, to, kNoticeTag, handle_.get(),
                        &message.request),
              "MPI_Isend");
    return;
  }
  message.buffer = std::move(buffer);
  unsent_bytes_ += bytes;
  check_mpi(MPI_Isend(message.buffer->bytes().data(), static_cast<int>(bytes), MPI_BYTE, to, kMessageTag,
                      handle_.get(), &message.request),
            "MPI_Isend");
}

std::size_t MpiMailbox::unsent_bytes() const {
  return unsent_bytes_.load(std::memory_order_relaxed) + slots_.used_bytes();
}

std::optional<Message> MpiMailbox::receive() {
  const std::lock_guard lock(mutex_);
  test_outgoing();
  accept_incoming();
  return next_arrived();
}

void MpiMailbox::test_outgoing() {
  for (auto message = outgoing_.begin(); message != outgoing_.end();) {
    if (state_of(message->request) == RequestState::kUnderWay) {
      ++message;
      continue;
    }
    if (message->buffer) unsent_bytes_ -= message->buffer->bytes().size();
    message = outgoing_.erase(message);
  }
}

void MpiMailbox::accept_incoming() {
  int found = 0;
  MPI_Message matched = MPI_MESSAGE_NULL;
  MPI_Status status;
  // Open MPI looks before it makes progress, so only the second look sees a message that has just arrived.
  for (int look = 0; look < 2 && found == 0; ++look) {
    const int code = MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, handle_.get(), &found, &matched, &status);
    // After the first death MPI_Improbe fails under ULFM where it finds nothing, because the dead rank might
    // have sent a message.
    if (!tells_of_death(code)) check_mpi(code, "MPI_Improbe");
  }
  if (found == 0) return;
  int bytes = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  Incoming& message =
      incoming_.emplace_back(Incoming{MPI_REQUEST_NULL, pool_.acquire(static_cast<std::size_t>(bytes)),
                                      status.MPI_SOURCE, status.MPI_TAG == kNoticeTag});
  check_mpi(MPI_Imrecv(message.buffer->bytes().data(), bytes, MPI_BYTE, &matched, &message.request),
            "MPI_Imrecv");
}

std::optional<Message> MpiMailbox::next_arrived() {
  // Keeps the order of each sender's messages: a small message may arrive before a large one that was sent
  // earlier. A message of a dead rank may never end, and must not hold up other senders.
  std::set<int> under_way;
  for (auto next = incoming_.begin(); next != incoming_.end();) {
    const bool is_first = !under_way.contains(next->from);
    const RequestState progress = is_first ? state_of(next->request) : RequestState::kUnderWay;
    if (progress == RequestState::kDone) {
      Message message{next->from, next->buffer};
      if (next->is_notice) message.buffer = slots_.open(*next->buffer, next->from);
      incoming_.erase(next);
      return message;
    }
    if (progress == RequestState::kLost) {
      next = incoming_.erase(next);
    } else {
      under_way.insert(next->from);
      ++next;
    }
  }
  return std::nullopt;
}

bool MpiMailbox::is_receiving() {
  const std::lock_guard lock(mutex_);
  return !incoming_.empty();
}

void MpiMailbox::close() {
  Backoff backoff;
  const auto receive_all = [&] {
    while (receive()) backoff.reset();
    backoff.pause();
  };
  while (unsent_bytes() > 0) receive_all();
  MPI_Request barrier = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(handle_.get(), &barrier), "MPI_Ibarrier");
  while (state_of(barrier) == RequestState::kUnderWay) receive_all();
  // All messages are sent, but small ones may still be unread.
  while (receive() || is_receiving()) backoff.reset();
  slots_.free();
  closed_ = true;
}

}  // namespace skyline::comm
