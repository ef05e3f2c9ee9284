#pragma once

#include "store/weights/weights.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace skyline::store {

/// What one attempt to read a weights file gave.
struct WeightsReading {
  std::shared_ptr<const WeightsFile> weights;  // nullptr: none
  std::string problem;                         // then: the file and what is wrong with it
  bool may_pass = false;                       // then: a later attempt may work (NFS, storage that is away)
};

/// The node's copies of weights files that were read from the shared folder, so that a front member's file
/// crosses the network once a node and not once a child. Used by the storage thread. A copy is a sealed file
/// in a node-local folder, published whole, checked at every use, the least recently used removed first; a
/// cache that cannot be used (full, read-only, removed) costs time, never a result.
class WeightsCache {
 public:
  /// @param folder      node-local, shared by the node's ranks; made for this user alone if need be, not used
  /// if it is anybody else's; empty: no copies
  /// @param most_bytes  of copies in the folder
  WeightsCache(std::filesystem::path folder, std::size_t most_bytes);
  ~WeightsCache();
  WeightsCache(const WeightsCache&) = delete;
  WeightsCache& operator=(const WeightsCache&) = delete;

  /// The weights of a file that is known to be published. Tries once and never waits: the storage thread has
  /// other work.
  WeightsReading read(const std::filesystem::path& path, trial::TrialNumber trial);

  /// Removes the folder with its copies, if it is one of this user's; nobody uses it any more.
  static void remove(const std::filesystem::path& folder);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skyline::store
