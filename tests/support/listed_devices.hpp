#pragma once

#include "skyline/core/error.hpp"

#include "train/device/accelerator.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace skyline::testing {

/// Devices and nothing else.
class ListedDevices final : public train::Accelerator {
 public:
  explicit ListedDevices(std::vector<train::AcceleratorDevice> devices) : devices_(std::move(devices)) {}
  const std::vector<train::AcceleratorDevice>& devices() const override { return devices_; }
  train::AcceleratorMemory memory(int) const override { return {}; }
  void release_cached_memory(int) override {}
  std::unique_ptr<train::AcceleratorStream> make_stream(int) override { refuse(); }
  void gather(const train::kernels::GatherPlan&) override { refuse(); }
  void dropout(const train::kernels::DropoutPlan&) override { refuse(); }
  void batch_norm_forward(const train::kernels::BatchNormPlan&) override { refuse(); }
  void batch_norm_backward(const train::kernels::BatchNormPlan&) override { refuse(); }
  void cross_entropy(const train::kernels::CrossEntropyPlan&) override { refuse(); }
  void end_step(const train::kernels::StepEnd&) override { refuse(); }
  std::unique_ptr<train::DeviceReducer> make_reducer(trial::TrialGroup&, int) override { refuse(); }

 private:
  [[noreturn]] static void refuse() { throw InternalError("a device that is only listed"); }

  std::vector<train::AcceleratorDevice> devices_;
};

/// The node's device of this number, as a process calls it `index`.
inline train::AcceleratorDevice listed_device(int number, int index) {
  return {.index = index,
          .name = "NVIDIA Test",
          .bus_id = "0000:1" + std::to_string(number) + ":00.0",
          .target = "cuda:" + std::to_string(index)};
}

}  // namespace skyline::testing
