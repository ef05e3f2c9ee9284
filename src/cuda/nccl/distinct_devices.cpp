#include "cuda/nccl/distinct_devices.hpp"

#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"

#include <cstdint>
#include <fstream>
#include <vector>

namespace skyline::cuda {

void check_distinct_devices(trial::TrialGroup& group, const std::string& machine, const std::string& bus_id) {
  constexpr int kBitsOfDouble = 53;  // bits of a whole number that a double holds exactly
  const std::uint64_t code = stable_hash64(machine + " " + bus_id) >> (64 - kBitsOfDouble);
  std::vector<double> codes(group.members(), 0.0);
  codes[group.member()] = static_cast<double>(code);
  group.sum(codes);
  for (std::size_t second = 0; second < codes.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (codes[first] == codes[second]) {
        throw UserError(
            "members " + std::to_string(first) + " and " + std::to_string(second) +
            " of a group use the same GPU, which NCCL does not allow: their sums go through the host");
      }
    }
  }
}

std::string machine_name() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace skyline::cuda
