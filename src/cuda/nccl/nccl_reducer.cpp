#include "cuda/nccl/nccl_reducer.hpp"

#include "skyline/core/error.hpp"

#include "cuda/streams/graph_memory.hpp"
#include "cuda/streams/stream_branch.hpp"
#include "cuda/streams/wait_watch.hpp"

#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace skyline::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using trial::Failure;
using trial::GroupAborted;

/// One member may be later than another by an evaluation, or by a recording in the queue. More is a fault.
constexpr std::chrono::seconds kLongestOperation{300};

std::size_t elements_of(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel());
}

class NcclReducer final : public train::DeviceReducer, private WaitWatch {
 public:
  NcclReducer(trial::TrialGroup& group, c10::DeviceIndex device, IdleConnections& idle, NcclFault& fault)
      : group_(group),
        device_(device),
        fault_(fault),
        idle_(idle),
        branch_(device),
        connection_(acquire_on(group, device, idle)) {}

  ~NcclReducer() override {
    if (communicator_ && std::uncaught_exceptions() == exceptions_ && group_goes_on()) {
      idle_.give_back(std::move(connection_));
    }
    // Otherwise the other members may be anywhere, and the handle aborts.
    drop_cuda_error(cudaSetDevice(device_));
    communicator_.reset();
  }
  NcclReducer(const NcclReducer&) = delete;
  NcclReducer& operator=(const NcclReducer&) = delete;

  void all_reduce(at::Tensor& values) override {
    void* data = values.mutable_data_ptr();
    const std::size_t count = elements_of(values);
    const ncclDataType_t type = values.scalar_type() == at::kDouble ? ncclFloat64 : ncclFloat32;
    queue("all_reduce", values, [&](ncclComm_t communicator, cudaStream_t stream) {
      return ncclAllReduce(data, data, count, type, ncclSum, communicator, stream);
    });
  }

  void reduce_scatter(at::Tensor& values, at::Tensor& part) override {
    check_part(values, part);
    const auto* source = values.const_data_ptr<float>();
    auto* target = part.mutable_data_ptr<float>();
    queue("reduce_scatter", values, [&](ncclComm_t communicator, cudaStream_t stream) {
      return ncclReduceScatter(source, target, elements_of(part), ncclFloat32, ncclSum, communicator, stream);
    });
  }

  void all_gather(const at::Tensor& part, at::Tensor& values) override {
    check_part(values, part);
    const auto* source = part.const_data_ptr<float>();
    auto* target = values.mutable_data_ptr<float>();
    queue("all_gather", values, [&](ncclComm_t communicator, cudaStream_t stream) {
      return ncclAllGather(source, target, elements_of(part), ncclFloat32, communicator, stream);
    });
  }

  void join(std::size_t but_last) override {
    if (!communicator_) return;
    const c10::cuda::CUDAGuard guard(device_);
    branch_.join(c10::cuda::getCurrentCUDAStream(device_), but_last);
  }

 private:
  static Connection acquire_on(trial::TrialGroup& group, c10::DeviceIndex device, IdleConnections& idle) {
    const c10::cuda::CUDAGuard guard(device);
    return idle.acquire(group, device);
  }

  /// Looks after the group while the thread waits for the device.
  void check(Clock::time_point waiting_since) override {
    if (!communicator_) return check_abort();
    check_group();
    ncclResult_t state = ncclSuccess;
    const ncclResult_t status = ncclCommGetAsyncError(communicator_.get(), &state);
    if (status != ncclSuccess || (state != ncclSuccess && state != ncclInProgress)) {
      give_up(nccl_error_text(status != ncclSuccess ? status : state, "NCCL", communicator_.get()));
    }
    if (has_operations_ && Clock::now() - waiting_since > kLongestOperation) {
      give_up("an operation of the group has not ended for " + std::to_string(kLongestOperation.count()) +
              " s: a member is lost or stuck");
    }
  }

  void check_part(const at::Tensor& values, const at::Tensor& part) const {
    require(part.is_contiguous() && elements_of(part) * group_.members() == elements_of(values),
            "values that the members of a group share out must be equal parts");
  }

  template <typename Call>
  void queue(const char* operation, const at::Tensor& values, const Call& call) {
    require(values.is_contiguous() && values.dim() == 1,
            "values of a group must be contiguous, in one dimension");
    require(static_cast<bool>(communicator_), "an operation of a group that was given up");
    const c10::cuda::CUDAGuard guard(device_);
    const cudaStream_t current = c10::cuda::getCurrentCUDAStream(device_);
    branch_.fork(current);
    ncclResult_t status = call(communicator_.get(), branch_.stream());
    if (status == ncclInProgress) {
      status = wait_for_nccl(communicator_.get(), kLongestOperation, [&] { check_group(); });
    }
    if (status != ncclSuccess) {
      const std::string reason = nccl_error_text(status, operation, communicator_.get());
      if (is_invalidated(current)) {
        end_trial(reason, false);  // another thread broke the recording, and NCCL cannot continue after that
      }
      give_up(reason);
    }
    branch_.note_operation();
    has_operations_ = true;
  }

  /// Ends a wait for a device that an abort does not free.
  static void check_abort() {
    if (const auto problem = abort_problem()) {
      throw GroupAborted({trial::FailureKind::kException, *problem});
    }
  }

  bool group_goes_on() const noexcept {
    try {
      group_.check();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  /// Checks the group, since the device may wait for a member that has given the trial up.
  void check_group() {
    try {
      group_.check();
    } catch (const GroupAborted&) {
      leave();
      throw;
    }
  }

  /// Ends the work because a member, a device or a link is lost; no trial is to blame.
  [[noreturn]] void give_up(const std::string& reason) {
    fault_.set(reason);
    end_trial(reason, true);
  }

  [[noreturn]] void end_trial(const std::string& reason, bool fault) {
    const Failure failure{trial::FailureKind::kException, reason};
    group_.abort(failure, fault);
    leave();
    throw GroupAborted(failure);
  }

  /// Aborts the communicator, so that the device ends its operation. NCCL does that at once, but its call
  /// returns only when the graphs with its operations are destroyed, and this very thread destroys them.
  void leave() {
    if (communicator_) {
      aborting_ = std::jthread([device = device_, communicator = std::move(communicator_)]() mutable {
        drop_cuda_error(cudaSetDevice(device));
        communicator.reset();
      });
    }
  }

  trial::TrialGroup& group_;
  c10::DeviceIndex device_;
  NcclFault& fault_;
  IdleConnections& idle_;
  int exceptions_ = std::uncaught_exceptions();
  StreamBranch branch_;
  Connection connection_;
  CommunicatorHandle& communicator_ = connection_.communicator;
  bool has_operations_ = false;  // operations are queued or recorded
  GroupUse use_;
  std::jthread aborting_;  // joined by the destructor
};

}  // namespace

std::unique_ptr<train::DeviceReducer> make_nccl_reducer(trial::TrialGroup& group,
                                                        const train::AcceleratorDevice& device,
                                                        IdleConnections& idle, NcclFault& fault) {
  if (!have_distinct_devices(group, machine_name(), device.bus_id)) return nullptr;
  try {
    return std::make_unique<NcclReducer>(group, static_cast<c10::DeviceIndex>(device.index), idle, fault);
  } catch (const FaultError& error) {
    fault.set(error.what());
    throw;
  }
}

}  // namespace skyline::cuda
