#pragma once

#include "train/kernels/values.hpp"

namespace skyline::train::kernels {

struct BatchNormPlan;
struct CrossEntropyPlan;
struct DropoutPlan;
struct GatherPlan;
struct StepEnd;

/// The kernels that a device has beside ATen's. Each is queued on the current stream. All pointers of the
/// plans are the device's; the host reads nothing through them, so that the calls can be captured.
class DeviceKernels {
 public:
  virtual ~DeviceKernels() = default;
  virtual Kernels kernels() const { return Kernels::kAten; }
  // What these draw is what the CPU draws.
  /// Gathers, augments and scales a batch in one pass.
  virtual void gather(const GatherPlan& plan) = 0;
  virtual void dropout(const DropoutPlan& plan) = 0;
  // What these do takes ATen many small kernels.
  virtual void batch_norm_forward(const BatchNormPlan& plan) = 0;
  virtual void batch_norm_backward(const BatchNormPlan& plan) = 0;
  virtual void cross_entropy(const CrossEntropyPlan& plan) = 0;
  virtual void end_step(const StepEnd& end) = 0;
};

}  // namespace skyline::train::kernels
