#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// The most bytes that a file has which begins with these 4096 bytes, by what its header says.
using MostBytes = std::function<std::size_t(std::string_view start)>;

/// The content of a file, unpacked if it is gzip: all of it, or one byte more than `most_bytes` allows.
/// @throws UserError: unreadable, truncated or damaged
std::string read_plain_or_gzip(const std::filesystem::path& path, const MostBytes& most_bytes);

/// The first of `names` in `folder` that exists, plain or with .gz.
/// @throws UserError "<folder>: expected train-images-idx3-ubyte or train-images-idx3-ubyte.gz, found
/// neither"
std::filesystem::path find_plain_or_gzip(const std::filesystem::path& folder,
                                         const std::vector<std::string>& names);

/// @throws UserError unless `folder` is one
void check_folder(const std::filesystem::path& folder);

}  // namespace skyline::store
