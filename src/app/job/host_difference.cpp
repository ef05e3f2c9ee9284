#include "app/job/host_difference.hpp"

#include "app/job/program_build.hpp"
#include "comm/agreement.hpp"
#include "core/text/wording.hpp"
#include "machine/node.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <sstream>
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
  const std::vector<std::string> texts = comm::gather(world, text);
  std::string difference;
  if (world.rank() == comm::kCoordinator) difference = compare(texts, environment.hosts());
  difference = comm::share(world, std::move(difference));
  return difference.empty() ? std::nullopt : std::optional(difference);
}

std::optional<std::string> version_difference(comm::Environment& environment) {
  return host_difference(environment, joined(program_parts(), "\n") + "\nbuild " + build_id(),
                         program_difference);
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
        part = "an unknown build";  // the program has no more parts
    }
    if (std::string difference = text_difference(parts, hosts); !difference.empty()) return difference;
  }
  return {};
}

}  // namespace skyline::app
