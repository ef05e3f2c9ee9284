#include "store/data/private_folder.hpp"

#include "skyline/core/error.hpp"

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {

namespace {

/// The owner that the kernel shows for a file whose owner this container does not know: root, as a rule.
constexpr uid_t kUnknownUser = 65534;

/// A folder that belongs to this user may be open to a group: some systems make all of them so.
std::optional<std::string> find_objection_to_parent(const std::filesystem::path& folder) {
  const std::filesystem::path parent = folder.has_parent_path() ? folder.parent_path() : ".";
  struct stat status {};
  if (::stat(parent.c_str(), &status) != 0) return system_error_text(errno);
  const bool is_systems = status.st_uid == 0 || status.st_uid == kUnknownUser;
  if (status.st_uid != ::geteuid() && !is_systems) {
    return "others may put another folder in its place: " + parent.string() + " belongs to another user";
  }
  const mode_t open = status.st_uid == ::geteuid() ? S_IWOTH : S_IWGRP | S_IWOTH;
  if ((status.st_mode & open) == 0 || (status.st_mode & S_ISVTX) != 0) return std::nullopt;
  return "others may put another folder in its place: " + parent.string() +
         " is writable for them and has no sticky bit";
}

}  // namespace

std::optional<std::string> find_objection(const std::filesystem::path& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return system_error_text(errno);
  if (!S_ISDIR(status.st_mode)) return "not a folder";
  if (status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) return "others may use it";
  return find_objection_to_parent(folder);
}

std::optional<std::string> make_private_folder(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return system_error_text(errno);
  return find_objection(folder);
}

}  // namespace skyline::store
