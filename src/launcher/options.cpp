#include "launcher/options.hpp"

#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

namespace skyline::launcher {
namespace {

bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_list(std::string_view text, std::vector<std::uint64_t>& numbers) {
  while (true) {
    const std::size_t comma = text.find(',');
    if (!read_number(text.substr(0, comma), numbers.emplace_back())) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

struct NumberOption {
  std::string_view name;
  std::uint64_t Options::*value;
};
constexpr std::array kNumberOptions{
    NumberOption{"grace_ms", &Options::grace_ms},     NumberOption{"log_limit", &Options::log_limit},
    NumberOption{"memory", &Options::memory},         NumberOption{"processes", &Options::processes},
    NumberOption{"open_files", &Options::open_files}, NumberOption{"adopt", &Options::adopt},
};

struct FlagOption {
  std::string_view name;
  bool Options::*value;
};
constexpr std::array kFlagOptions{FlagOption{"reports", &Options::reports},
                                  FlagOption{"holds", &Options::holds},
                                  FlagOption{"serves", &Options::serves}};

bool read_option(std::string_view name, std::string_view value, Options& options) {
  for (const NumberOption& option : kNumberOptions) {
    if (name == option.name) return read_number(value, options.*option.value);
  }
  if (name == "processors") return read_list(value, options.processors);
  if (name == "folder") {
    options.folder = value;
    return true;
  }
  for (const FlagOption& option : kFlagOptions) {
    if (name != option.name) continue;
    options.*option.value = value == "1";
    return value == "0" || value == "1";
  }
  return false;
}

}  // namespace

std::string read_options(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--") {
      if (i + 1 == count) return "no program after --";
      options.program = arguments + i + 1;
      return {};
    }
    const std::size_t equals = argument.find('=');
    if (equals == std::string_view::npos ||
        !read_option(argument.substr(0, equals), argument.substr(equals + 1), options)) {
      return "unknown option " + std::string(argument);
    }
  }
  return "no -- before the program";
}

}  // namespace skyline::launcher
