#include "core/system/temporary_folder.hpp"

#include "skyline/core/error.hpp"

#include "core/system/open_file.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <iterator>

#include <fcntl.h>
#include <unistd.h>

namespace skyline {

std::filesystem::path temporary_root() {
  for (const char* name : {"TMPDIR", "TEMP", "TMP"}) {  // in the order of Open MPI
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "/tmp";
}

std::string why_not_writable(const std::filesystem::path& folder) {
  std::string name = (folder / "skyline-XXXXXX").string();
  const FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) return system_error_text(errno);
  constexpr std::array<char, 4096> kBlock{};
  const ssize_t written = ::write(file.get(), kBlock.data(), kBlock.size());
  const int error = written < 0 ? errno : written < std::ssize(kBlock) ? ENOSPC : 0;
  ::unlink(name.c_str());
  return error == 0 ? "" : system_error_text(error);
}

}  // namespace skyline
