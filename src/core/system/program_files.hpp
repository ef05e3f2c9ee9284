#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace skyline {

/// Finds a file that belongs to the program, such as the `cuda` library: beside the program, in its ../lib,
/// or where the loader looks for its libraries (LD_LIBRARY_PATH, the folders with which it was linked). So a
/// program that is built on an installed Skyline finds the files of that one, too.
/// @param variable  environment variable that names the file instead
/// @param reason    set in one line if there is no such file
std::optional<std::filesystem::path> find_program_file(const char* name, const char* variable,
                                                       std::string& reason);

/// Returns the path of a file that ships with the program, in its tree: that of an installation or a build.
/// @param name  e.g. "data/digits.csv.gz"
std::filesystem::path shipped_file(std::string_view name);

}  // namespace skyline
