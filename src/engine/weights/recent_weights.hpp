#pragma once

#include "skyline/trial/trial.hpp"

#include "store/weights/weights.hpp"

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

namespace skyline::engine {

/// The weights that this rank's trials left lately, for their children: one that comes back to the rank
/// starts from memory, with the values of the file and without reading it. The least recently used go first.
/// Thread-safe.
class RecentWeights {
 public:
  using File = std::shared_ptr<const store::WeightsFile>;

  /// @param most_bytes  of tensors; of a file that is larger nothing is kept
  explicit RecentWeights(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Shares the file, which nobody changes any more.
  void keep(File file);
  /// nullptr: it is not here.
  File find(trial::TrialNumber trial);

 private:
  const std::size_t most_bytes_;
  std::mutex mutex_;       // of all below
  std::list<File> files_;  // the latest used first
  std::size_t bytes_ = 0;
};

/// Of all tensors.
std::size_t tensor_bytes(const store::WeightsFile& file);

}  // namespace skyline::engine
