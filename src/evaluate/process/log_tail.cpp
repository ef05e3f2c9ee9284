#include "evaluate/process/log_tail.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <string_view>

namespace skyline::evaluate {
namespace {

constexpr std::size_t kTailBytes = std::size_t{1} << 16;

}  // namespace

std::vector<std::string> log_tail(const std::filesystem::path& log, std::size_t most_lines,
                                  std::size_t longest_line) {
  const std::string text = store::read_end(log, kTailBytes);
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
    lines.push_back(shortened(printable(line.substr(0, kTailBytes), "\t"), longest_line));
  }
  std::ranges::reverse(lines);
  return lines;
}

void warn_with_tail(const std::string& failure, const std::filesystem::path& log) {
  log::warning(failure + "; the end of " + log.string() + ":");
  for (const std::string& line : log_tail(log)) log::warning("  | " + line);
}

}  // namespace skyline::evaluate
