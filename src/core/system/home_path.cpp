#include "core/system/home_path.hpp"

#include "skyline/core/error.hpp"

namespace skyline {

std::string expand_home(const std::string& path, const VariableLookup& variable) {
  if (!path.starts_with('~')) return path;
  if (path.size() > 1 && path[1] != '/')
    throw UserError(path + ": expected ~/ for the home folder, or ./~ for a file of this name");
  const std::optional<std::string> home = variable("HOME");
  if (!home || home->empty()) throw UserError(path + ": HOME is not set, so that ~ means nothing");
  return *home + path.substr(1);
}

}  // namespace skyline
