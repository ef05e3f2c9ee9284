#pragma once

#include "store/weights/weights.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace skyline::store {

/// The result of one attempt to read a weights file.
struct WeightsReading {
  std::shared_ptr<const WeightsFile> weights;  // nullptr: none
  std::string problem;                         // without weights: the file and its problem
  bool may_pass = false;  // without weights: a later attempt may work (NFS, storage that is away)
};

/// The node's copies of weights files that were read from the shared folder, so that a file crosses the
/// network once per node and not once per child. Used by the storage thread. A copy is a sealed file in a
/// node-local folder, published whole, checked at every use, the least recently used removed first; a cache
/// that cannot be used (full, read-only, removed) costs time, never a result.
class WeightsCache {
 public:
  /// @param folder  node-local, shared by the node's ranks; made for this user alone, not used if it belongs
  /// to somebody else; empty: no copies
  /// @param most_bytes  of copies in the folder
  WeightsCache(std::filesystem::path folder, std::size_t most_bytes);
  ~WeightsCache();
  WeightsCache(const WeightsCache&) = delete;
  WeightsCache& operator=(const WeightsCache&) = delete;

  /// Reads the weights of a published file. Tries once and never waits: the storage thread has other work.
  WeightsReading read(const std::filesystem::path& path, trial::TrialNumber trial);

  /// Removes the folder with its copies, if it belongs to this user. @pre nobody uses it any more
  static void remove(const std::filesystem::path& folder);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skyline::store
