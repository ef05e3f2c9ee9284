#include "store/arrays/gzip_stream.hpp"

#include "skyline/core/error.hpp"

#include "store/publish/file_descriptor.hpp"

#include <cerrno>

#include <sys/stat.h>

namespace skyline::store {

GzipStream::GzipStream(const std::filesystem::path& path) : path_(path) {
  struct stat status {};
  FileDescriptor descriptor = open_regular_file(path, status);
  if (!descriptor) fail_system("read", path, "", errno);
  file_ = gzdopen(descriptor.release(), "rb");
  require(file_ != nullptr, "zlib cannot start");
  gzbuffer(file_, 1 << 18);
}

std::string GzipStream::read_some(std::size_t most) {
  std::string text(most, '\0');
  const int count = gzread(file_, text.data(), static_cast<unsigned>(most));
  int problem = Z_OK;
  gzerror(file_, &problem);  // also reports a file that ends too early
  if (count < 0 || problem != Z_OK) throw UserError(path_.string() + ": damaged or truncated gzip file");
  text.resize(static_cast<std::size_t>(count));
  return text;
}

}  // namespace skyline::store
