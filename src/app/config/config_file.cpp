#include "app/config/config_file.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "store/publish/publish.hpp"

#include <cstdint>
#include <system_error>
#include <utility>

namespace skyline::app {
namespace {

/// Loads a file that a person wrote. While it is read, YAML takes some hundred times its size in memory.
ConfigNode load_written_file(const std::filesystem::path& path) {
  constexpr std::uintmax_t kMostBytes = 4U << 20U;
  std::error_code failure;  // reported when the file is read
  const std::uintmax_t bytes = std::filesystem::file_size(path, failure);
  if (!failure && bytes > kMostBytes) {
    throw UserError(path.string() + ": expected a configuration of at most 4 MiB, got " +
                    std::to_string(bytes >> 20U) + " MiB");
  }
  return store::load_yaml_file(path);
}

/// Replaces the section `space` by the file that it names, if it names one.
/// @param path  the configuration, whose folder is searched
void load_space(ConfigNode& root, const std::filesystem::path& path) {
  const ConfigNode* space = root.is_map() ? root.find("space") : nullptr;
  const ConfigNode* file = space != nullptr && space->is_map() ? space->find("file") : nullptr;
  if (file == nullptr) return;
  if (space->entries().size() > 1) file->fail("cannot have keys beside it: the file holds the whole section");
  ConfigNode section;
  try {
    section = load_written_file(path.parent_path() / file->as_text());
  } catch (const UserError& problem) {
    if (std::filesystem::exists(path.parent_path() / file->as_text())) throw;
    file->fail(problem.what());
  }
  root.set("space", std::move(section));
  root.assign_paths();
}

}  // namespace

ConfigNode load_config(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  ConfigNode root = load_written_file(path);
  const auto is_within_space = [](const std::string& assignment) {
    return assignment.starts_with("space.") && !assignment.starts_with("space.file=");
  };
  for (const std::string& assignment : overrides) {
    if (!is_within_space(assignment)) apply_override(root, assignment);
  }
  load_space(root, path);
  for (const std::string& assignment : overrides) {
    if (is_within_space(assignment)) apply_override(root, assignment);
  }
  return root;
}

}  // namespace skyline::app
