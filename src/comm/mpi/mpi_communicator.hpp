#pragma once

#include "comm/communicator.hpp"
#include "core/system/unique_handle.hpp"

#include <cstdint>

#include <mpi.h>

namespace skyline::comm {

/// Throws FaultError "<call>: <the library's text>" unless `code` is MPI_SUCCESS. Works only on
/// communicators whose error handler is MPI_ERRORS_RETURN.
void check_mpi(int code, const char* call);

/// Returns whether a call failed because a rank has died. Only Open MPI with ULFM can say so.
bool tells_of_death(int code);

/// The progress of an operation with one other rank. kLost: that rank has died, so the operation cannot end.
enum class RequestState : std::uint8_t { kUnderWay, kDone, kLost };
/// Tests the operation. When it has ended in any way, the request is null.
RequestState state_of(MPI_Request& request);

struct CommunicatorTraits {
  using Type = MPI_Comm;
  inline static const Type kNull = MPI_COMM_NULL;
  static void close(Type handle) noexcept { MPI_Comm_free(&handle); }
};
using CommunicatorHandle = UniqueHandle<CommunicatorTraits>;

/// A communicator on an MPI communicator that it owns and whose error handler must be MPI_ERRORS_RETURN.
class MpiCommunicator final : public Communicator {
 public:
  /// Makes a duplicate of `original`, with its error handler. Collective.
  static std::unique_ptr<MpiCommunicator> duplicate(MPI_Comm original);
  explicit MpiCommunicator(CommunicatorHandle handle);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::unique_ptr<Request> broadcast(std::span<std::byte> bytes, int root) override;
  std::unique_ptr<Request> scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                                   int root) override;
  std::unique_ptr<Request> gather(std::span<const std::byte> mine, std::span<std::byte> all,
                                  int root) override;
  std::unique_ptr<Request> barrier() override;
  std::unique_ptr<Request> send(std::span<const std::byte> bytes, int to) override;
  std::unique_ptr<Request> receive(std::span<std::byte> bytes, int from) override;

  /// Forgets the handle instead of freeing it, for a process that ends without MPI_Finalize.
  void abandon() { handle_.release(); }

 private:
  void check_buffer(std::size_t all_bytes, std::size_t rank_bytes, int root) const;

  CommunicatorHandle handle_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace skyline::comm
