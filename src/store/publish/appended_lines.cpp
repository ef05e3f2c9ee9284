#include "store/publish/appended_lines.hpp"

#include "skyline/core/error.hpp"

#include "store/publish/file_descriptor.hpp"
#include "store/publish/pinned_folders.hpp"
#include "store/publish/publish.hpp"

#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace skyline::store {

void append_lines(const std::filesystem::path& path, std::string_view lines) {
  const IoOperation operation("write", path);
  PinnedFolders::check(path);
  FileDescriptor file = open_own_file(path, O_WRONLY | O_CREAT, 0666);
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) fail_system("write", path, "open", errno);
  const std::string text = (status.st_size > 0 ? "\n" : "") + std::string(lines);
  const int error =
      write_at(file, std::as_bytes(std::span(text)), static_cast<std::uint64_t>(status.st_size));
  if (error != 0) fail_system("write", path, "write", error);
  if (const int closed = close_file(std::move(file))) fail_system("write", path, "close", closed);
}

void read_lines(const std::filesystem::path& path, const std::function<void(std::string_view line)>& read) {
  const std::string text = read_file(path);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    try {
      read(rest.substr(0, end));
    } catch (const UserError&) {
      // The line is left out.
    }
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
}

}  // namespace skyline::store
