#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// Returns the largest possible size of a file by the header in its first 4096 bytes.
using MostBytes = std::function<std::size_t(std::string_view start)>;

/// Returns the content of a file, unpacked if it is gzip: all of it, or one byte more than `most_bytes`
/// allows. @throws UserError if it is unreadable, truncated or damaged
std::string read_plain_or_gzip(const std::filesystem::path& path, const MostBytes& most_bytes);

/// Returns the first of `names` that is a file in `folder`, or in a folder of the same name there, plain or
/// with .gz, or an empty path.
std::filesystem::path look_for_plain_or_gzip(const std::filesystem::path& folder,
                                             const std::vector<std::string>& names);
/// Returns the same file.
/// @throws UserError "<folder>: expected train-images-idx3-ubyte or train-images-idx3-ubyte.gz, found
///         neither"
std::filesystem::path find_plain_or_gzip(const std::filesystem::path& folder,
                                         const std::vector<std::string>& names);

/// Checks that `folder` is a folder. @throws UserError
void check_folder(const std::filesystem::path& folder);

}  // namespace skyline::store
