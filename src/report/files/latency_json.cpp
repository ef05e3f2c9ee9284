#include "report/files/latency_json.hpp"

#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "store/publish/block_reader.hpp"
#include "store/publish/publish.hpp"

#include <utility>

namespace skyline::report {

void write_latencies(const store::RunPaths& paths, const std::vector<FrontLatency>& latencies) {
  std::vector<ConfigNode> list;
  for (const FrontLatency& each : latencies) {
    std::vector<ConfigNode> rounds;
    for (const double round_ms : each.rounds_ms) rounds.push_back(ConfigNode::make_number(round_ms));
    list.push_back(
        ConfigNode::make_map({{"trial", ConfigNode::make_integer(static_cast<std::int64_t>(each.trial)), {}},
                              {"latency_ms", ConfigNode::make_number(each.least_ms()), {}},
                              {"rounds_ms", ConfigNode::make_list(std::move(rounds), {}), {}}},
                             {}));
  }
  store::publish_file(paths.latency_json(), to_json(ConfigNode::make_list(std::move(list), {})));
}

std::vector<FrontLatency> read_latencies(const store::RunPaths& paths) {
  std::vector<FrontLatency> latencies;
  if (!store::exists(paths.latency_json())) return latencies;
  try {
    const ConfigNode list = store::load_run_yaml(paths.latency_json());
    for (const ConfigNode& each : list.items()) {
      FrontLatency latency{static_cast<trial::TrialNumber>(each.at("trial").as_integer()), {}};
      for (const ConfigNode& round : each.at("rounds_ms").items()) {
        latency.rounds_ms.push_back(round.as_number());
      }
      if (!latency.rounds_ms.empty()) latencies.push_back(std::move(latency));
    }
  } catch (const UserError&) {
    return {};
  }
  return latencies;
}

}  // namespace skyline::report
