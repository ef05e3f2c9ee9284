#pragma once

#include "train/batches/device_dataset.hpp"
#include "train/device/accelerator.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace skyline::train {

/// Device work that is repeated on the same addresses. It first runs directly, which also prepares the
/// device, then is recorded once and replayed. If the device refuses, or lacks the memory, it keeps running
/// directly. The members of a group record it all or none, as NCCL requires.
class CapturedWork {
 public:
  /// `context`, `stream` and `group` must outlive it.
  /// @param runs_before_recording  if not given, it is never recorded
  /// @param group  the group whose members all do this work in step, or nullptr
  CapturedWork(DeviceDataset& context, AcceleratorStream& stream, std::function<void()> work,
               std::optional<std::int64_t> runs_before_recording, trial::TrialGroup* group = nullptr);

  /// Does or queues the work. Collective over the group.
  void run();
  bool is_recorded() const { return graph_ != nullptr; }

 private:
  void record();
  void try_to_record();

  DeviceDataset& context_;
  AcceleratorStream& stream_;
  std::function<void()> work_;
  std::optional<std::int64_t> runs_before_recording_;
  trial::TrialGroup* group_;
  std::int64_t runs_ = 0;
  std::unique_ptr<AcceleratorGraph> graph_;
};

/// Says when work is recorded; a recording costs as much as about ten steps.
struct RecordingPolicy {
  std::int64_t runs_before = 3;           // unrecorded runs first, which make handles and choose algorithms
  std::int64_t least_steps = 40;          // trials of fewer steps train without a CUDA graph
  std::int64_t burst = 4;                 // steps per replay
  std::int64_t least_burst_steps = 1000;  // shorter trials have no bursts
  double most_burst_flops = 2e9;    // FLOPs per step; larger steps gain too little from a second recording
  std::int64_t least_batches = 16;  // fewer validation batches are not recorded
  std::int64_t least_epochs = 20;   // with fewer epochs their smaller last batch is not recorded
};

}  // namespace skyline::train
