#pragma once

#include "skyline/train/accelerator.hpp"

#include "train/device_context.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace skyline::train {

/// Device work that is done again and again with the same addresses: as it is at first, which also makes the
/// device ready for it, then recorded once and replayed. Where the device refuses it goes on as at first.
class RepeatedWork {
 public:
  /// @param runs_before_recording  nothing: it is never recorded
  /// `context` and `stream` outlive it.
  RepeatedWork(DeviceContext& context, AcceleratorStream& stream, std::function<void()> work,
               std::optional<std::int64_t> runs_before_recording);

  /// Does the work, or queues it.
  void run();
  bool is_recorded() const { return graph_ != nullptr; }

 private:
  void record();

  DeviceContext& context_;
  AcceleratorStream& stream_;
  std::function<void()> work_;
  std::optional<std::int64_t> runs_before_recording_;
  std::int64_t runs_ = 0;
  std::unique_ptr<AcceleratorGraph> graph_;
};

}  // namespace skyline::train
