#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace skyline {

/// Returns the folders of the control groups of this process, from its own up to the topmost. A container may
/// see its own group as the topmost one, whatever the path says.
/// @param root        root of the file system; tests use another one than "/"
/// @param controller  e.g. "memory"; version 1 has a folder for each
std::vector<std::filesystem::path> control_groups(const std::filesystem::path& root,
                                                  std::string_view controller);

/// The processes and threads of a control group that has a limit of them (pids.max).
struct ProcessLimit {
  std::uint64_t most = 0;
  std::uint64_t used = 0;
  std::uint64_t left() const { return most - std::min(most, used); }
};
/// Returns the limit of which the fewest are left; nullopt if no control group has one.
std::optional<ProcessLimit> process_limit_of_groups(const std::filesystem::path& root);

}  // namespace skyline
