#include "store/publish/block_reader.hpp"

#include "store/publish/file_descriptor.hpp"
#include "store/publish/patience.hpp"

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

namespace skyline::store {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20U;

}  // namespace

bool BlockReader::read(std::string& text) {
  const std::size_t before = text.size();
  ssize_t count = 0;
  patiently("read", path_, [&]() -> Fault {
    struct stat status {};
    if (!file_) file_ = open_regular_file(path_, status);
    if (!file_) return {"", errno};
    text.resize(before + kBlockBytes);
    do {
      count = ::pread(file_.get(), text.data() + before, kBlockBytes, static_cast<off_t>(place_));
    } while (count < 0 && errno == EINTR);
    if (count >= 0) return {};
    const int error = errno;
    file_.reset();
    return {"", error};
  });
  text.resize(before + static_cast<std::size_t>(count));
  place_ += static_cast<std::uint64_t>(count);
  return count > 0;
}

}  // namespace skyline::store
