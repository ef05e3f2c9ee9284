#include "store/publish/list_folder.hpp"

#include "store/publish/file_descriptor.hpp"

#include <system_error>

namespace skyline::store {

std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    paths.push_back(entry->path());
  }
  if (error) fail_system("read the folder", folder, "", error.value());
  return paths;
}

}  // namespace skyline::store
