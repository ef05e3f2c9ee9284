#pragma once

#include "train/device/accelerator.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace skyline::cuda {

/// Why the groups of a process cannot go on: a member is lost, or its device or link. No trial is to be
/// blamed for it. Used by all threads.
class NcclFault {
 public:
  /// The first reason stays.
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

/// Collective over the group: a communicator of its own. @throws UserError on all members if two of them use
/// one device, FaultError with NCCL's text if it fails otherwise
std::unique_ptr<train::DeviceReducer> make_nccl_reducer(trial::TrialGroup& group,
                                                        const train::AcceleratorDevice& device,
                                                        NcclFault& fault);

}  // namespace skyline::cuda
