#include "store/import/plain_or_gzip.hpp"

#include "skyline/core/error.hpp"

#include "store/publish/publish.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <system_error>

#include <zlib.h>

namespace skyline::store {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::size_t kGzipStartBytes = 4096;  // bytes from which a caller finds the size

/// Ends the stream, whichever way its function is left.
struct InflateStream {
  z_stream stream{};
  InflateStream() {
    constexpr int kGzipFormat = 16;
    require(inflateInit2(&stream, MAX_WBITS + kGzipFormat) == Z_OK, "zlib cannot start");
  }
  ~InflateStream() { inflateEnd(&stream); }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;
};

/// Unpacks at most one byte more than `most_bytes` allows, because a few kilobytes may unpack to gigabytes.
std::string unpack(const std::string& packed, const std::filesystem::path& path,
                   const MostBytes& most_bytes) {
  InflateStream owner;
  z_stream& stream = owner.stream;
  std::string text(kGzipStartBytes, '\0');
  std::optional<std::size_t> most;
  std::size_t filled = 0;
  std::size_t taken = 0;
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  for (;;) {
    if (filled == text.size()) {
      if (!most) most = std::max(most_bytes(text), kGzipStartBytes);
      if (filled > *most) return text;
      text.resize(std::min(2 * filled, *most + 1));
    }
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + taken));
    stream.avail_in = static_cast<uInt>(std::min(packed.size() - taken, kMost));
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + filled);
    stream.avail_out = static_cast<uInt>(std::min(text.size() - filled, kMost));
    const uInt room = stream.avail_out;
    const uInt offered = stream.avail_in;
    const int status = inflate(&stream, Z_NO_FLUSH);
    filled += room - stream.avail_out;
    taken += offered - stream.avail_in;
    if (status == Z_STREAM_END) {
      if (taken == packed.size()) break;
      inflateReset(&stream);  // several gzip files may be joined
    } else if (status == Z_BUF_ERROR && taken == packed.size()) {
      throw UserError(path.string() + ": truncated gzip file (copy or download it again)");
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      throw UserError(path.string() + ": damaged gzip file: " + (stream.msg != nullptr ? stream.msg : "") +
                      " (copy or download it again)");
    }
  }
  text.resize(filled);
  return text;
}

}  // namespace

std::string read_plain_or_gzip(const std::filesystem::path& path, const MostBytes& most_bytes) {
  std::string content = read_file(path);
  return content.starts_with(kGzipMagic) ? unpack(content, path, most_bytes) : content;
}

void check_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    throw UserError(folder.string() + ": there is no such folder");
}

std::filesystem::path look_for_plain_or_gzip(const std::filesystem::path& folder,
                                             const std::vector<std::string>& names) {
  std::error_code error;
  for (const std::string& name : names) {
    for (const char* ending : {"", ".gz"}) {
      const std::filesystem::path path = folder / (name + ending);
      // Kaggle packs each file into a folder of its name.
      for (const std::filesystem::path& place : {path, path / (name + ending)}) {
        if (std::filesystem::is_regular_file(place, error)) return place;
      }
    }
  }
  return {};
}

std::filesystem::path find_plain_or_gzip(const std::filesystem::path& folder,
                                         const std::vector<std::string>& names) {
  const std::filesystem::path found = look_for_plain_or_gzip(folder, names);
  if (!found.empty()) return found;
  throw UserError(folder.string() + ": expected " + names.front() + " or " + names.front() +
                  ".gz, found neither");
}

}  // namespace skyline::store
