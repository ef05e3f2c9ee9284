#include "store/data/mapped_file.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace skyline::store {

MappedFile::MappedFile(const std::filesystem::path& path) : file_(open_file(path, O_RDONLY)) {
  struct stat status {};
  if (!file_ || ::fstat(file_.get(), &status) != 0) fail_system("read", path, "", errno);
  if (S_ISDIR(status.st_mode)) fail_system("read", path, "", EISDIR);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* place = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file_.get(), 0);
  if (place == MAP_FAILED) fail_system("read", path, "mmap", errno);
  bytes_ = {static_cast<const std::byte*>(place), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace skyline::store
