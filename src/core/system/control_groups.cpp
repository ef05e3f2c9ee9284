#include "core/system/control_groups.hpp"

#include <fstream>
#include <sstream>
#include <string>

namespace skyline {
namespace {

namespace fs = std::filesystem;

/// Returns whether a comma-separated list has the word: "cpu,cpuacct" has "cpu".
bool has_word(const std::string& list, std::string_view word) {
  std::istringstream words(list);
  for (std::string part; std::getline(words, part, ',');) {
    if (part == word) return true;
  }
  return false;
}

}  // namespace

std::vector<fs::path> control_groups(const fs::path& root, std::string_view controller) {
  std::vector<fs::path> folders;
  std::ifstream lines(root / "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {  // versions 2: "0::/job", 1: "4:cpu:/job"
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !has_word(controllers, controller)) continue;
    const fs::path mount =
        controllers.empty() ? root / "sys/fs/cgroup" : root / "sys/fs/cgroup" / std::string(controller);
    for (fs::path group = fs::path(line.substr(second + 1)).relative_path();; group = group.parent_path()) {
      folders.push_back(mount / group);
      if (group.empty()) break;
    }
  }
  return folders;
}

std::optional<ProcessLimit> process_limit_of_groups(const fs::path& root) {
  std::optional<ProcessLimit> least;
  for (const fs::path& group : control_groups(root, "pids")) {
    ProcessLimit limit;
    const bool is_limited = static_cast<bool>(std::ifstream(group / "pids.max") >> limit.most);  // not "max"
    if (!is_limited || !(std::ifstream(group / "pids.current") >> limit.used)) continue;
    if (!least || limit.left() < least->left()) least = limit;
  }
  return least;
}

}  // namespace skyline
