#pragma once

#include "core/system/unique_handle.hpp"

#include <filesystem>

#include <unistd.h>

namespace skyline {

struct FileDescriptorTraits {
  using Type = int;
  static constexpr Type kNull = -1;
  static void close(Type descriptor) noexcept { ::close(descriptor); }
};
using FileDescriptor = UniqueHandle<FileDescriptorTraits>;

/// Opens a file, close-on-exec. Tries again after an interruption or a stale NFS handle. Returns null and
/// sets errno if it fails.
FileDescriptor open_file(const std::filesystem::path& path, int flags, unsigned mode = 0);

/// Opens a file that is written in place, in a folder where others may write too. It never waits, as opening
/// a pipe would. Returns null and sets errno if it fails.
/// @throws UserError if the path is a symbolic link, a pipe or a device, or the file has another name as well
FileDescriptor open_own_file(const std::filesystem::path& path, int flags, unsigned mode = 0);

}  // namespace skyline
