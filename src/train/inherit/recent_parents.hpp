#pragma once

#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// What a trial left on a device; constant.
struct TrainedTensors {
  trial::TrialNumber trial = 0;
  std::shared_ptr<const space::Architecture> architecture;
  std::vector<at::Tensor> tensors;  // complete; in the order of the network's layers and their tensors
  std::size_t bytes = 0;
};

/// The tensors that trials of a run left on a device lately, for their children. The least recently used go
/// first. Thread-safe.
class RecentParents {
 public:
  using Entry = std::shared_ptr<const TrainedTensors>;

  /// @param most_bytes  of all entries
  explicit RecentParents(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  std::size_t most_bytes() const { return most_bytes_; }
  /// Shares the tensors, in the place of those that the trial left before; one that is too large is left out.
  void keep(Entry entry);
  /// nullptr: it is not here. Who queues work that reads the tensors keeps them until it is done: memory that
  /// is freed sooner would be used for something else.
  Entry find(const trial::Inherit& inheritance);
  /// Makes room on the device.
  void clear();
  std::size_t bytes() const;

 private:
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;  // of all below
  std::list<Entry> entries_;  // the latest used first
  std::size_t bytes_ = 0;
};

}  // namespace skyline::train
