#pragma once

#include "skyline/trial/trial.hpp"

#include "core/lru_cache.hpp"
#include "store/weights/weights.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace skyline::engine {

/// Bytes of all tensors of a file.
inline std::size_t tensor_bytes(const store::WeightsFile& file) {
  std::size_t bytes = 0;
  for (const trial::NamedTensor& tensor : file.tensors) bytes += tensor.values.size() * sizeof(float);
  return bytes;
}

/// The weights that this rank's trials left lately, for their children: one that comes back to the rank
/// starts from memory, with the values of the file and without reading it. Thread-safe.
class RecentWeights {
 public:
  using File = std::shared_ptr<const store::WeightsFile>;

  /// @param most_bytes  of tensors; of a file that is larger nothing is kept
  explicit RecentWeights(std::size_t most_bytes) : files_(most_bytes) {}

  /// Shares the file, which nobody changes any more.
  void keep(const File& file) { files_.keep(file->trial, file, tensor_bytes(*file)); }
  /// nullptr: it is not here.
  File find(trial::TrialNumber trial) { return files_.find(trial); }

 private:
  LruCache<trial::TrialNumber, store::WeightsFile> files_;
};

}  // namespace skyline::engine
