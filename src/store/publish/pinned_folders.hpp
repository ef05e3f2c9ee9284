#pragma once

#include "core/system/open_file.hpp"

#include <filesystem>
#include <vector>

namespace skyline::store {

/// While it lives, this process writes and removes files in some folders only as long as their names lead to
/// the folders of now: others may put a link or another folder in their place.
class PinnedFolders {
 public:
  /// Folders that are missing are not pinned.
  explicit PinnedFolders(const std::vector<std::filesystem::path>& folders);
  ~PinnedFolders();
  PinnedFolders(const PinnedFolders&) = delete;
  PinnedFolders& operator=(const PinnedFolders&) = delete;

  /// Checks the folder of a file, and the one above it, if they are pinned. Any thread may call this.
  /// @throws UserError if another folder took the place of one
  static void check(const std::filesystem::path& file);

 private:
  struct Pinned {
    std::filesystem::path folder;
    FileDescriptor descriptor;  // keeps the folder's number from being given to another one
  };
  /// @throws UserError if another folder took the place of this one
  void check_folder(const std::filesystem::path& folder) const;

  std::vector<Pinned> pinned_;
};

}  // namespace skyline::store
