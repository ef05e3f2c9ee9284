#pragma once

#include "skyline/core/error.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace skyline {

/// Returns the folder for temporary files of MPI and of trainers: TMPDIR, TEMP, TMP, or else /tmp.
std::filesystem::path temporary_root();

/// Returns why no file can be written in a folder, or an empty text. It writes a small one and removes it.
std::string why_not_writable(const std::filesystem::path& folder);

/// A folder that is removed in the end, unless somebody keeps it.
class TemporaryFolder {
 public:
  /// Makes a folder that only this user can read.
  ///
  /// @param parent  an existing folder
  /// @param prefix  of its name, before characters that nobody can guess
  /// @throws UserError if it cannot be made
  TemporaryFolder(const std::filesystem::path& parent, const std::string& prefix) {
    std::string path = (parent / (prefix + "XXXXXX")).string();
    if (mkdtemp(path.data()) == nullptr)
      throw UserError("cannot make a folder in " + parent.string() + ": " +
                      std::generic_category().message(errno));
    path_ = path;
  }
  /// Takes a folder that was made for it.
  explicit TemporaryFolder(std::filesystem::path made) : path_(std::move(made)) {}
  ~TemporaryFolder() {
    std::error_code ignored;  // a folder that stays does no harm
    if (!kept_) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace skyline
