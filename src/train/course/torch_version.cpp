#include "train/course/torch_version.hpp"

#include <ATen/Version.h>

namespace skyline::train {

std::string torch_version() {
  // Reads the library's own text: the version of the headers is that of the build.
  const std::string report = at::show_config();
  const std::string key = "TORCH_VERSION=";
  const std::size_t start = report.find(key);
  if (start == std::string::npos) return "unknown";
  const std::size_t begin = start + key.size();
  return report.substr(begin, report.find_first_of(", \n", begin) - begin);
}

}  // namespace skyline::train
