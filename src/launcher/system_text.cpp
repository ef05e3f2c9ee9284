#include "launcher/system_text.hpp"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

namespace skyline::launcher {

std::string read_text(const std::string& path, std::size_t most) {
  std::string text(most, '\0');
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t read = file < 0 ? 0 : ::read(file, text.data(), text.size());
  if (file >= 0) ::close(file);
  text.resize(read > 0 ? static_cast<std::size_t>(read) : 0);
  return text;
}

bool write_text(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool done = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int problem = errno;
  ::close(file);
  errno = problem;
  return done;
}

std::uint64_t count_in(const std::string& text, std::string_view name) {
  const std::string wanted = "\n" + std::string(name) + " ";
  const std::size_t line = ("\n" + text).find(wanted);  // the first line has none before it
  if (line == std::string::npos) return 0;
  return std::strtoull(text.c_str() + line + wanted.size() - 1, nullptr, 10);
}

}  // namespace skyline::launcher
