#pragma once

#include "cuda/nccl/nccl_connection.hpp"
#include "train/device/accelerator.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace skyline::cuda {

/// The reason why the groups of a process cannot continue: a member is lost, or its device or link. No trial
/// is to blame for it. Any thread may use it.
class NcclFault {
 public:
  /// Sets the reason; only the first one is kept.
  void set(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (!reason_) reason_ = reason;
  }
  std::optional<std::string> reason() {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

 private:
  std::mutex mutex_;
  std::optional<std::string> reason_;
};

/// Makes a reducer. Its communicator is one of the idle ones if all members have that, and becomes idle again
/// if the trial ends in order. Collective over the group.
/// Returns nullptr on all members if two of them use one device. @throws FaultError with NCCL's text
std::unique_ptr<train::DeviceReducer> make_nccl_reducer(trial::TrialGroup& group,
                                                        const train::AcceleratorDevice& device,
                                                        IdleConnections& idle, NcclFault& fault);

}  // namespace skyline::cuda
