#pragma once

#include "skyline/train/accelerator.hpp"

#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace skyline::cuda {

/// Logs how NCCL connects the members of groups, each answer once. Used by all threads.
class TransportReport {
 public:
  /// NCCL's log says it once the first operation is done.
  void report();

 private:
  std::mutex mutex_;
  std::set<std::string> told_;
};

/// Collective over the group: a communicator of its own. @throws UserError on all members if two of them use
/// one device, InternalError with NCCL's text if it fails otherwise
std::unique_ptr<train::DeviceReducer> make_nccl_reducer(objective::TrialGroup& group,
                                                        const train::AcceleratorDevice& device,
                                                        TransportReport& transports);

}  // namespace skyline::cuda
