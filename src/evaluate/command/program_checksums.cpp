#include "evaluate/command/program_checksums.hpp"

#include "core/system/process.hpp"
#include "core/text/hash.hpp"
#include "evaluate/command/placeholders.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

#include <unistd.h>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;
using Checksums = std::map<std::string, std::string>;

constexpr std::uintmax_t kMostBytes = std::uintmax_t{16} << 20U;

bool is_of_system(const fs::path& file) {
  std::error_code failure;
  const std::string real = fs::canonical(file, failure).string();
  if (real.starts_with("/usr/local/")) return false;
  constexpr std::array<std::string_view, 3> kFolders{"/usr/", "/bin/", "/sbin/"};
  return std::ranges::any_of(kFolders, [&](std::string_view folder) { return real.starts_with(folder); });
}

void add_file(const std::string& name, const fs::path& file, Checksums& checksums) {
  std::error_code failure;
  if (!fs::is_regular_file(file, failure) || ::access(file.c_str(), R_OK) != 0 || is_of_system(file)) return;
  if (fs::file_size(file, failure) > kMostBytes || failure) return;
  checksums[name] = checksum(store::read_file(file));
}

void add_arguments(const std::vector<std::string>& arguments, Checksums& checksums) {
  for (const std::string& argument : arguments) {
    if (!placeholders_in(argument).empty()) continue;
    const std::string name = filled(argument, {});
    const bool is_in_path = &argument == &arguments.front() && name.find('/') == std::string::npos;
    if (!is_in_path) add_file(name, name, checksums);
  }
}

/// Adds the file of a function's module, where a Python that starts in this folder finds it first. A module
/// of an installed package is not looked for.
void add_function(const CommandOptions& options, Checksums& checksums) {
  std::string module = options.python->substr(0, options.python->rfind(':'));
  if (module.ends_with(".py")) return add_file(module, module, checksums);
  std::ranges::replace(module, '.', '/');
  const auto own = std::ranges::find(options.variables, "PYTHONPATH", &NamedText::first);
  const std::string more =
      own != options.variables.end() ? own->second : process_variable("PYTHONPATH").value_or("");
  std::istringstream folders(".:" + more);
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const char* const end : {"/__init__.py", ".py"}) {
      std::error_code failure;
      const fs::path file = fs::path(folder) / (module + end);
      if (fs::is_regular_file(file, failure)) return add_file(module + end, file, checksums);
    }
  }
}

}  // namespace

Checksums program_checksums(const CommandOptions& options) {
  Checksums checksums = program_checksums(options.metrics);
  if (options.python) add_function(options, checksums);
  add_arguments(options.run, checksums);
  return checksums;
}

Checksums program_checksums(const std::vector<CommandMetric>& metrics) {
  Checksums checksums;
  for (const CommandMetric& metric : metrics) add_arguments(metric.run, checksums);
  return checksums;
}

}  // namespace skyline::evaluate
