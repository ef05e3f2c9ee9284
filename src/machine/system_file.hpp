#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::machine {

/// Returns the first line of one of the system's small files, without blanks at its ends, or an empty text if
/// it cannot be read.
std::string read_system_line(const std::filesystem::path& file);

/// Returns the names in a folder, shorter ones first (mlx5_9 before mlx5_10), or none if it cannot be read.
std::vector<std::string> list_system_folder(const std::filesystem::path& folder);

/// Parses a list of processors: "0-3,8" -> {0, 1, 2, 3, 8}. Malformed parts are left out.
std::vector<int> parse_processor_list(const std::string& text);

}  // namespace skyline::machine
