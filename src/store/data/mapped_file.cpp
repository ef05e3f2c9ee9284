#include "store/data/mapped_file.hpp"

#include <cerrno>

#include <sys/mman.h>
#include <sys/stat.h>

namespace skyline::store {

MappedFile::MappedFile(const std::filesystem::path& path) {
  struct stat status {};
  file_ = open_regular_file(path, status);
  if (!file_) fail_system("read", path, "", errno);
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
