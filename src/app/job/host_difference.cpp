#include "app/job/host_difference.hpp"

#include "comm/agreement.hpp"
#include "machine/node.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace skyline::app {

std::string text_difference(std::span<const std::string> texts, std::span<const std::string> hosts) {
  struct Group {
    std::string text;
    std::vector<std::string> hosts;
  };
  std::vector<Group> groups;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank].empty()) continue;
    auto group = std::ranges::find(groups, texts[rank], &Group::text);
    if (group == groups.end()) group = groups.insert(group, Group{texts[rank], {}});
    group->hosts.push_back(hosts[rank]);
  }
  if (groups.size() < 2) return {};
  std::string difference;
  for (const Group& group : groups) {
    difference += (difference.empty() ? "" : "; ") + group.text + " on " + machine::host_list(group.hosts);
  }
  return difference;
}

std::optional<std::string> host_difference(comm::Environment& environment, const std::string& text,
                                           const CompareTexts& compare) {
  comm::Communicator& world = environment.world();
  const std::vector<std::string> texts = comm::gather_texts(world, text, comm::kCoordinator);
  const std::vector<std::string> hosts =
      comm::gather_texts(world, environment.place().host, comm::kCoordinator);
  std::string difference;
  if (world.rank() == comm::kCoordinator) difference = compare(texts, hosts);
  difference = comm::share(world, std::move(difference));
  return difference.empty() ? std::nullopt : std::optional(difference);
}

}  // namespace skyline::app
