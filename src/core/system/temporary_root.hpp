#pragma once

#include <filesystem>
#include <string>

namespace skyline {

/// Returns the folder for temporary files of MPI and of trainers: TMPDIR, TEMP, TMP, or else /tmp.
std::filesystem::path temporary_root();

/// Returns why no file can be written in a folder, or an empty text. It writes a small one and removes it.
std::string why_not_writable(const std::filesystem::path& folder);

}  // namespace skyline
