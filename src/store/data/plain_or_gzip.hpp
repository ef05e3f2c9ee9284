#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::store {

/// The whole content of a file, unpacked if it is gzip. @throws UserError: unreadable, truncated or damaged
std::string read_plain_or_gzip(const std::filesystem::path& path);

/// The first of `names` in `folder` that exists, plain or with .gz.
/// @throws UserError "<folder>: expected train-images-idx3-ubyte or train-images-idx3-ubyte.gz, found
/// neither"
std::filesystem::path find_plain_or_gzip(const std::filesystem::path& folder,
                                         const std::vector<std::string>& names);

/// @throws UserError unless `folder` is one
void check_folder(const std::filesystem::path& folder);

}  // namespace skyline::store
