#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include <zlib.h>

namespace skyline::store {

/// Reads a plain or gzip file from its start to its end.
class GzipStream {
 public:
  /// Opens the file. @throws UserError, FaultError
  explicit GzipStream(const std::filesystem::path& path);
  ~GzipStream() { gzclose_r(file_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  /// Returns up to `most` bytes, fewer only at the end of the file. @throws UserError if it is damaged
  std::string read_some(std::size_t most);

 private:
  std::filesystem::path path_;
  gzFile file_ = nullptr;
};

}  // namespace skyline::store
