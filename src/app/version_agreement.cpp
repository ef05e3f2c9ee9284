#include "app/version_agreement.hpp"

#include <map>
#include <set>
#include <vector>

namespace skyline::app {
namespace {

constexpr int kCoordinator = 0;

}  // namespace

std::optional<std::string> version_difference(comm::Environment& environment) {
  comm::Communicator& world = environment.world();
  const std::vector<std::string> versions = comm::gather_texts(world, SKYLINE_VERSION, kCoordinator);
  const std::vector<std::string> hosts = comm::gather_texts(world, environment.place().host, kCoordinator);
  std::map<std::string, std::set<std::string>> hosts_of;
  for (std::size_t rank = 0; rank < versions.size(); ++rank) hosts_of[versions[rank]].insert(hosts[rank]);
  std::string text;
  if (hosts_of.size() > 1) {
    for (const auto& [version, its_hosts] : hosts_of) {
      text += (text.empty() ? "" : "; ") + version + " on ";
      for (const std::string& host : its_hosts) text += (host == *its_hosts.begin() ? "" : ", ") + host;
    }
  }
  text = comm::broadcast_text(world, std::move(text), kCoordinator);
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace skyline::app
