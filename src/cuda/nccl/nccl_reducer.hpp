#pragma once

#include "cuda/nccl/nccl_log.hpp"
#include "train/device/accelerator.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace skyline::cuda {

/// What the reducers of a process have in common. Used by all threads.
class NcclReport {
 public:
  /// Logs how NCCL connects the members of groups, each answer once. Its own log says it once the first
  /// operation is done.
  void tell_transport();
  /// A member is lost, or its device or link.
  void set_fault(const std::string& reason);
  /// The first one. No trial is to be blamed for it.
  std::optional<std::string> fault();

 private:
  std::mutex mutex_;
  std::size_t read_ = 0;     // bytes of NCCL's log
  NcclTransport transport_;  // from these
  std::set<std::string> told_;
  std::optional<std::string> fault_;
};

/// Collective over the group: a communicator of its own. @throws UserError on all members if two of them use
/// one device, FaultError with NCCL's text if it fails otherwise
std::unique_ptr<train::DeviceReducer> make_nccl_reducer(trial::TrialGroup& group,
                                                        const train::AcceleratorDevice& device,
                                                        NcclReport& report);

}  // namespace skyline::cuda
