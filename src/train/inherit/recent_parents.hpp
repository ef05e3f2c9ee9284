#pragma once

#include "skyline/trial/trial.hpp"

#include "core/lru_cache.hpp"

#include <cstddef>
#include <memory>
#include <utility>
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

/// The tensors that trials of a run left on a device lately, for their children. Thread-safe.
class RecentParents {
 public:
  using Entry = std::shared_ptr<const TrainedTensors>;

  /// @param most_bytes  of all entries
  explicit RecentParents(std::size_t most_bytes) : entries_(most_bytes) {}

  std::size_t most_bytes() const { return entries_.most_bytes(); }
  /// Shares the tensors, in the place of those that the trial left before; one that is too large is left out.
  void keep(const Entry& entry) { entries_.keep(entry->trial, entry, entry->bytes); }
  /// nullptr: it is not here. Who queues work that reads the tensors keeps them until it is done: memory that
  /// is freed sooner would be used for something else.
  Entry find(const trial::Inherit& inheritance) {
    const space::Architecture& wanted = *inheritance.architecture;
    return entries_.find(inheritance.from, [&](const TrainedTensors& left) {
      return left.architecture.get() == &wanted ||
             left.architecture->network.canonical_text() == wanted.network.canonical_text();
    });
  }
  /// Drops all tensors, to make room on the device.
  void clear() { entries_.clear(); }
  std::size_t bytes() const { return entries_.bytes(); }

 private:
  LruCache<trial::TrialNumber, TrainedTensors> entries_;
};

}  // namespace skyline::train
