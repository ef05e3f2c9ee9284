#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace skyline {

/// Finds a file that belongs to the program, such as the `cuda` library: beside the program, in its ../lib,
/// or where the loader looks for its libraries (LD_LIBRARY_PATH, the folders with which it was linked). So a
/// program that is built on an installed Skyline finds the files of that one, too.
/// @param variable  environment variable that names the file instead
/// @param reason    set in one line if there is no such file
std::optional<std::filesystem::path> find_program_file(const char* name, const char* variable,
                                                       std::string& reason);

}  // namespace skyline
