#include "store/private_folder.hpp"

#include "skyline/core/error.hpp"

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {

std::optional<std::string> find_objection(const std::filesystem::path& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return system_error_text(errno);
  if (!S_ISDIR(status.st_mode)) return "not a folder";
  if (status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) return "others may use it";
  return std::nullopt;
}

std::optional<std::string> make_private_folder(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return system_error_text(errno);
  return find_objection(folder);
}

}  // namespace skyline::store
