#include "machine/system_file.hpp"

#include "core/config/config_text.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

namespace skyline::machine {
namespace {

constexpr int kMostProcessors = 1 << 20;  // bounds the memory for a wrong file

std::optional<std::int64_t> processor_in(std::string_view text) {
  const auto number = parse_integer(text);
  return number && *number >= 0 && *number < kMostProcessors ? number : std::nullopt;
}

}  // namespace

std::string read_system_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  const auto first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
}

std::vector<std::string> list_system_folder(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names, [](const std::string& left, const std::string& right) {
    return left.size() != right.size() ? left.size() < right.size() : left < right;
  });
  return names;
}

std::vector<int> parse_processor_list(const std::string& text) {
  std::vector<int> processors;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto dash = part.find('-');
    const auto first = processor_in(std::string_view(part).substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : processor_in(std::string_view(part).substr(dash + 1));
    if (!first || !last) continue;
    for (auto processor = *first; processor <= *last; ++processor) {
      processors.push_back(static_cast<int>(processor));
    }
  }
  return processors;
}

}  // namespace skyline::machine
