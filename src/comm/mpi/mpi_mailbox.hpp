#pragma once

#include "comm/mailbox.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/shared_buffers.hpp"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>

#include <mpi.h>

namespace skyline::comm {

/// A mailbox on an MPI communicator that it owns. It needs MPI_THREAD_MULTIPLE, because the main thread uses
/// MPI at the same time.
class MpiMailbox final : public Mailbox {
 public:
  /// Makes a mailbox on a duplicate of `original`, with its error handler. Collective.
  static std::unique_ptr<MpiMailbox> duplicate(MPI_Comm original);
  explicit MpiMailbox(CommunicatorHandle handle);
  MpiMailbox(const MpiMailbox&) = delete;
  MpiMailbox& operator=(const MpiMailbox&) = delete;
  ~MpiMailbox() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::shared_ptr<Buffer> acquire(std::size_t size) override;
  void send(std::shared_ptr<const Buffer> buffer, int to) override;
  std::optional<Message> receive() override;
  std::size_t unsent_bytes() const override;
  void close() override;

 private:
  struct Outgoing {
    MPI_Request request = MPI_REQUEST_NULL;
    std::shared_ptr<const Buffer> buffer;  // the message itself, if it is not in shared memory
    SlotNotice notice;                     // place of the message in shared memory
  };
  struct Incoming {
    MPI_Request request = MPI_REQUEST_NULL;
    std::shared_ptr<Buffer> buffer;
    int from = 0;
    bool is_notice = false;
  };
  void test_outgoing();
  void accept_incoming();
  std::optional<Message> next_arrived();
  bool is_receiving();

  CommunicatorHandle handle_;
  SharedBuffers slots_;
  int rank_ = 0;
  int size_ = 1;
  bool closed_ = false;
  BufferPool pool_;
  std::mutex mutex_;
  std::list<Outgoing> outgoing_;
  std::list<Incoming> incoming_;  // messages in the order of arrival
  std::atomic<std::size_t> unsent_bytes_ = 0;
};

}  // namespace skyline::comm
