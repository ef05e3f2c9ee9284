#include "skyline/core/error.hpp"

#include "store/images/image.hpp"
#include "store/publish/file_descriptor.hpp"

#include <algorithm>

#include <unistd.h>

namespace skyline::store {
namespace {

/// Contains the header of most images; a JPEG may have profiles and thumbnails before it.
constexpr std::size_t kStartBytes = std::size_t{1} << 16;

/// Reads the first `most` bytes of a file. @throws UserError, FaultError
std::string read_start(const std::filesystem::path& path, std::size_t most) {
  struct stat status {};
  const FileDescriptor file = open_regular_file(path, status);
  if (!file) fail_system("read", path, "", errno);
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes > kMostImageBytes) throw UserError("larger than " + std::to_string(kMostImageBytes) + " bytes");
  std::string start(std::min(bytes, most), '\0');
  std::size_t filled = 0;
  while (filled < start.size()) {
    const ssize_t count =
        ::pread(file.get(), start.data() + filled, start.size() - filled, static_cast<off_t>(filled));
    if (count < 0) fail_system("read", path, "", errno);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  start.resize(filled);
  return start;
}

}  // namespace

space::Shape read_image_shape(const std::filesystem::path& path) {
  const std::string start = read_start(path, kStartBytes);
  if (const auto shape = image_shape(start)) return *shape;
  if (start.size() == kStartBytes) {
    if (const auto shape = image_shape(read_start(path, kMostImageBytes))) return *shape;
  }
  throw UserError("truncated");
}

Image read_image(const std::filesystem::path& path) {
  return decode_image(read_start(path, kMostImageBytes));
}

}  // namespace skyline::store
