#include "evaluate/job_ranks.hpp"

#include "comm/agreement.hpp"

#include <cstdlib>
#include <sstream>

namespace skyline::evaluate {
namespace {

std::vector<std::string> visible_devices() {
  const char* named = std::getenv("CUDA_VISIBLE_DEVICES");
  std::istringstream text(named == nullptr ? "" : named);
  std::vector<std::string> devices;
  for (std::string device; std::getline(text, device, ',');) devices.push_back(device);
  return devices;
}

}  // namespace

std::vector<std::string> JobRanks::exchange(const std::string& mine) {
  return comm::share(world_, comm::gather(world_, mine));
}

trial::Place place_of(const comm::Environment& job) {
  const comm::NodePlace& node = job.place();
  return {.host = node.host,
          .node = node.node,
          .node_rank = node.local_rank,
          .processors = node.processors,
          .devices = visible_devices()};
}

}  // namespace skyline::evaluate
