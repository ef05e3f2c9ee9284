#pragma once

#include "skyline/store/weights.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>

namespace skyline::store {

/// The node's copies of weights files that were read from the shared folder, so that a front member's file
/// crosses the network once a node and not once a child. Used by the storage thread. A copy is a sealed file
/// in a node-local folder, published whole, checked at every use, the least recently used removed first; a
/// cache that cannot be used (full, read-only, removed) costs time, never a result.
class WeightsCache {
 public:
  /// @param folder      node-local, shared by the node's ranks; made if need be; empty: no copies
  /// @param most_bytes  of copies in the folder
  WeightsCache(std::filesystem::path folder, std::size_t most_bytes);
  ~WeightsCache();
  WeightsCache(const WeightsCache&) = delete;
  WeightsCache& operator=(const WeightsCache&) = delete;

  /// The weights of a file that is known to be published. Waits, with a growing pause and a bound, for a file
  /// that does not show yet (NFS). @throws UserError naming the file: still missing, damaged, or not that
  /// trial's
  std::shared_ptr<const WeightsFile> read(const std::filesystem::path& path, objective::TrialNumber trial);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skyline::store
