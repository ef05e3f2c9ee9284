#include "comm/mpi/mpi_communicator.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"

#include <exception>
#include <limits>
#include <utility>

namespace skyline::comm {
namespace {

class MpiRequest final : public Request {
 public:
  MpiRequest() = default;
  MpiRequest(const MpiRequest&) = delete;
  MpiRequest& operator=(const MpiRequest&) = delete;
  ~MpiRequest() override {
    // A collective cannot be cancelled and still owns the caller's buffers, so continuing would corrupt
    // memory. While an exception ends the process that no longer matters.
    if (request_ != MPI_REQUEST_NULL && std::uncaught_exceptions() == 0) {
      log::error("internal error: an unfinished communication was given up");
      std::terminate();
    }
  }
  bool test() override {
    int done = 0;
    check_mpi(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  }
  MPI_Request* handle() { return &request_; }

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;  // null once the operation is complete
};

constexpr int kRankHasDied = 75;  // MPIX_ERR_PROC_FAILED of Open MPI 5; 4.1 has no name for it
constexpr int kTag = 0;           // collectives have separate channels

/// Checks a size, because MPI's counts are int.
int checked_count(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw InternalError("a message of " + std::to_string(bytes) +
                        " bytes a rank is too large for one MPI call");
  }
  return static_cast<int>(bytes);
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  const bool known = MPI_Error_string(code, text, &length) == MPI_SUCCESS;
  throw FaultError(
      std::string(call) + ": " +
      (known ? std::string(text, static_cast<std::size_t>(length)) : "MPI error " + std::to_string(code)));
}

bool tells_of_death(int code) {
  return code == kRankHasDied;
}

RequestState state_of(MPI_Request& request) {
  int done = 0;
  const int code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  if (tells_of_death(code)) return RequestState::kLost;
  check_mpi(code, "MPI_Test");
  return done != 0 ? RequestState::kDone : RequestState::kUnderWay;
}

std::unique_ptr<MpiCommunicator> MpiCommunicator::duplicate(MPI_Comm original) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(original, &copy), "MPI_Comm_dup");
  return std::make_unique<MpiCommunicator>(CommunicatorHandle(copy));
}

MpiCommunicator::MpiCommunicator(CommunicatorHandle handle) : handle_(std::move(handle)) {
  check_mpi(MPI_Comm_rank(handle_.get(), &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(handle_.get(), &size_), "MPI_Comm_size");
}

void MpiCommunicator::check_buffer(std::size_t all_bytes, std::size_t rank_bytes, int root) const {
  const std::size_t expected = rank_ == root ? rank_bytes * static_cast<std::size_t>(size_) : 0;
  require(all_bytes == expected, "the root's buffer is not [size x bytes of a rank]");
}

std::unique_ptr<Request> MpiCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  auto request = std::make_unique<MpiRequest>();
  check_mpi(
      MPI_Ibcast(bytes.data(), checked_count(bytes.size()), MPI_BYTE, root, handle_.get(), request->handle()),
      "MPI_Ibcast");
  return request;
}

std::unique_ptr<Request> MpiCommunicator::scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                                                  int root) {
  check_buffer(all.size(), mine.size(), root);
  const int count = checked_count(mine.size());
  auto request = std::make_unique<MpiRequest>();
  check_mpi(MPI_Iscatter(all.data(), count, MPI_BYTE, mine.data(), count, MPI_BYTE, root, handle_.get(),
                         request->handle()),
            "MPI_Iscatter");
  return request;
}

std::unique_ptr<Request> MpiCommunicator::gather(std::span<const std::byte> mine, std::span<std::byte> all,
                                                 int root) {
  check_buffer(all.size(), mine.size(), root);
  const int count = checked_count(mine.size());
  auto request = std::make_unique<MpiRequest>();
  check_mpi(MPI_Igather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, root, handle_.get(),
                        request->handle()),
            "MPI_Igather");
  return request;
}

std::unique_ptr<Request> MpiCommunicator::barrier() {
  auto request = std::make_unique<MpiRequest>();
  check_mpi(MPI_Ibarrier(handle_.get(), request->handle()), "MPI_Ibarrier");
  return request;
}

std::unique_ptr<Request> MpiCommunicator::send(std::span<const std::byte> bytes, int to) {
  auto request = std::make_unique<MpiRequest>();
  check_mpi(MPI_Isend(bytes.data(), checked_count(bytes.size()), MPI_BYTE, to, kTag, handle_.get(),
                      request->handle()),
            "MPI_Isend");
  return request;
}

std::unique_ptr<Request> MpiCommunicator::receive(std::span<std::byte> bytes, int from) {
  auto request = std::make_unique<MpiRequest>();
  check_mpi(MPI_Irecv(bytes.data(), checked_count(bytes.size()), MPI_BYTE, from, kTag, handle_.get(),
                      request->handle()),
            "MPI_Irecv");
  return request;
}

}  // namespace skyline::comm
