#pragma once

#include "train/device/accelerator.hpp"
#include "train/device/device_context.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace skyline::train {

/// Device work that is done again and again with the same addresses: as it is at first, which also makes the
/// device ready for it, then recorded once and replayed. Where the device refuses, or has no memory for that,
/// it goes on as at first. The members of a group record it all or none: NCCL wants that.
class RepeatedWork {
 public:
  /// @param runs_before_recording  nothing: it is never recorded
  /// @param group                  whose members all do this work, in step; nullptr: it is this one's alone
  /// `context`, `stream` and `group` outlive it.
  RepeatedWork(DeviceContext& context, AcceleratorStream& stream, std::function<void()> work,
               std::optional<std::int64_t> runs_before_recording, trial::TrialGroup* group = nullptr);

  /// Does the work, or queues it. Collective over the group.
  void run();
  bool is_recorded() const { return graph_ != nullptr; }

 private:
  bool shall_be_recorded() const;
  void record();
  void try_to_record();

  DeviceContext& context_;
  AcceleratorStream& stream_;
  std::function<void()> work_;
  std::optional<std::int64_t> runs_before_recording_;
  trial::TrialGroup* group_;
  std::int64_t runs_ = 0;
  std::unique_ptr<AcceleratorGraph> graph_;
};

}  // namespace skyline::train
