#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"
#include "store/images/image.hpp"
#include "store/publish/file_descriptor.hpp"

#include <algorithm>
#include <array>

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

std::string ending_of(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  return ending.empty() ? "without an ending" : lower_case(ending);
}

std::optional<OtherKind> other_kind(const std::filesystem::path& path) {
  constexpr std::size_t kMagicBytes = 512;
  constexpr std::array kEndings{".png",  ".jpg", ".jpeg", ".jpe", ".jfif",
                                ".webp", ".pbm", ".pgm",  ".ppm", ".pnm"};
  std::string start;
  try {
    start = read_start(path, kMagicBytes);
  } catch (const UserError&) {
    return std::nullopt;
  }
  if (is_image(start)) return std::nullopt;
  if (const auto foreign = foreign_image_kind(start); !foreign.empty())
    return OtherKind{std::string(foreign), true};
  const std::string ending = ending_of(path);
  if (std::ranges::find(kEndings, ending) != kEndings.end()) return std::nullopt;
  return OtherKind{ending};
}

Image read_image(const std::filesystem::path& path) {
  return decode_image(read_start(path, kMostImageBytes));
}

}  // namespace skyline::store
