#include "train/course/torch_version.hpp"

#include <ATen/Version.h>

namespace skyline::train {

std::string torch_version() {
  // The headers' version is that of the build; this text is the library's own.
  const std::string report = at::show_config();
  const std::string key = "TORCH_VERSION=";
  const std::size_t start = report.find(key);
  if (start == std::string::npos) return "unknown";
  const std::size_t begin = start + key.size();
  return report.substr(begin, report.find_first_of(", \n", begin) - begin);
}

}  // namespace skyline::train
