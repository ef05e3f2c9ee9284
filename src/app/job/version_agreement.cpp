#include "app/job/version_agreement.hpp"

#include "app/job/build_id.hpp"
#include "app/job/host_difference.hpp"
#include "comm/mpi/mpi_library.hpp"
#include "train/course/torch_version.hpp"

#include <sstream>
#include <vector>

namespace skyline::app {
namespace {

std::string describe_program() {
  return std::string(SKYLINE_VERSION) + "\nLibTorch " + train::torch_version() + "\n" +
         comm::mpi_library_name() + "\nbuild " + build_id();
}

}  // namespace

std::optional<std::string> version_difference(comm::Environment& environment) {
  return host_difference(environment, describe_program(), program_difference);
}

std::string program_difference(std::span<const std::string> programs, std::span<const std::string> hosts) {
  std::vector<std::istringstream> lines(programs.begin(), programs.end());
  for (bool more = true; more;) {
    more = false;
    std::vector<std::string> parts;
    for (std::istringstream& program : lines) {
      std::string& part = parts.emplace_back();
      if (std::getline(program, part))
        more = true;
      else
        part = "an unknown build";  // the program did not give more
    }
    if (std::string difference = text_difference(parts, hosts); !difference.empty()) return difference;
  }
  return {};
}

}  // namespace skyline::app
