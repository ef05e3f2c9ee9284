#include "report/python_output.hpp"

#include <array>
#include <cstdio>

namespace skyline::testing {

std::string python_output(const std::string& script, const std::string& arguments) {
  const std::string command = std::string(SKYLINE_PANDAS_PYTHON) + " " + SKYLINE_SOURCE_DIR +
                              "/tests/report/" + script + " " + arguments;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), count);
  }
  ::pclose(pipe);
  return text;
}

}  // namespace skyline::testing
