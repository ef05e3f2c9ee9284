#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace skyline::app {

/// Checks that a user's --out names a file that may be written: a new one, or, with --force, a plain file
/// that is none of the inputs and none that belongs to a run.
/// @throws UserError
void check_output(const std::filesystem::path& file, bool overwrites,
                  const std::vector<std::filesystem::path>& inputs = {});
/// Checks the name and writes the file whole. @throws UserError, or FaultError if it cannot be written
void write_output(const std::filesystem::path& file, std::string_view bytes, bool overwrites,
                  const std::vector<std::filesystem::path>& inputs = {});

/// Makes a folder that a user's --out names, with those above it. @throws UserError
void make_output_folder(const std::filesystem::path& folder);

}  // namespace skyline::app
