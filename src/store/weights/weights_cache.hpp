#pragma once

#include "store/weights/weights.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

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

  /// Reads the weights of a published file. Tries once and never waits: the storage thread has other work.
  WeightsReading read(const std::filesystem::path& path, trial::TrialNumber trial);

  /// Removes the folder with its copies, if it belongs to this user. @pre nobody uses it any more
  static void remove(const std::filesystem::path& folder);

 private:
  std::shared_ptr<const WeightsFile> read_copy(const std::string& seal_block);
  void keep_copy(std::string_view file);
  void make_room(std::uint64_t bytes) const;
  void give_up(const std::string& reason);
  /// A copy is named after the seal of the original, and so after its content.
  std::filesystem::path copy_path(std::string_view seal_block) const;

  std::filesystem::path folder_;  // empty: no copies
  std::uint64_t most_bytes_;
};

}  // namespace skyline::store
