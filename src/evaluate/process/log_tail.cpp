#include "evaluate/process/log_tail.hpp"

#include "core/log.hpp"
#include "core/system/open_file.hpp"
#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skyline::evaluate {
namespace {

constexpr std::size_t kTailBytes = std::size_t{1} << 16;
constexpr std::size_t kLongestTailLine = 400;

/// Returns the last bytes of a regular file, or "".
std::string last_bytes(const std::filesystem::path& path) {
  const FileDescriptor file = open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  std::string text(std::min(size, kTailBytes), '\0');
  const ssize_t read = ::pread(file.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(read > 0 ? static_cast<std::size_t>(read) : 0);
  return text;
}

}  // namespace

std::vector<std::string> log_tail(const std::filesystem::path& log, std::size_t most_lines) {
  const std::string text = last_bytes(log);
  std::vector<std::string> lines;
  std::string_view rest = text;
  while (!rest.empty() && lines.size() < most_lines) {
    const std::size_t before = rest.rfind('\n');
    std::string_view line = before == std::string_view::npos ? rest : rest.substr(before + 1);
    rest = rest.substr(0, before == std::string_view::npos ? 0 : before);
    while (line.ends_with('\r')) line.remove_suffix(1);
    if (const std::size_t start = line.rfind('\r'); start != std::string_view::npos)
      line.remove_prefix(start + 1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    lines.push_back(shortened(printable(line.substr(0, kTailBytes), "\t"), kLongestTailLine));
  }
  std::ranges::reverse(lines);
  return lines;
}

void warn_with_tail(const std::string& failure, const std::filesystem::path& log) {
  log::warning(failure + "; the end of " + log.string() + ":");
  for (const std::string& line : log_tail(log)) log::warning("  | " + line);
}

}  // namespace skyline::evaluate
