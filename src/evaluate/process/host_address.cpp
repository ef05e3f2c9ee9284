#include "evaluate/process/host_address.hpp"

#include "core/config/config_text.hpp"
#include "core/system/process.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>
#include <string_view>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace skyline::evaluate {
namespace {

constexpr int kAddressBits = 32;

/// Beginnings of the names of bridges to containers and virtual machines of this host.
constexpr std::array<std::string_view, 7> kBridges{"docker", "br-",    "veth", "virbr",
                                                   "podman", "lxcbr0", "cni"};

bool is_bridge(const HostInterface& interface) {
  return std::ranges::any_of(kBridges,
                             [&](std::string_view begin) { return interface.name.starts_with(begin); });
}

bool is_loopback(const HostInterface& interface) {
  constexpr int kHostBits = 24;  // number of host bits in 127.0.0.0/8
  return interface.address >> kHostBits == kLoopback >> kHostBits;
}

/// Returns whether an entry of Open MPI's lists means the interface: its name, or a subnet of its address.
bool is_meant(const HostInterface& interface, const std::string& entry) {
  const std::size_t slash = entry.find('/');
  if (slash == std::string::npos) return entry == interface.name;
  in_addr network{};
  const auto bits = parse_integer(entry.substr(slash + 1));
  const bool is_subnet = bits && *bits >= 0 && *bits <= kAddressBits &&
                         inet_pton(AF_INET, entry.substr(0, slash).c_str(), &network) == 1;
  if (!is_subnet || *bits == 0) return is_subnet;
  return (ntohl(network.s_addr) ^ interface.address) >> (kAddressBits - *bits) == 0;
}

std::vector<std::string> entries_of(const std::string& list) {
  std::vector<std::string> entries;
  std::istringstream text(list);
  for (std::string entry; std::getline(text, entry, ',');) entries.push_back(entry);
  return entries;
}

std::vector<HostInterface> interfaces_up() {
  std::vector<HostInterface> up;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return up;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    const bool is_up = (each->ifa_flags & IFF_UP) != 0;
    if (!is_up || each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    up.push_back(
        {each->ifa_name, ntohl(reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr.s_addr)});
  }
  return up;
}

}  // namespace

std::string dotted(Ipv4 address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  const in_addr number{htonl(address)};
  return inet_ntop(AF_INET, &number, text.data(), text.size()) == nullptr ? "" : text.data();
}

std::optional<Ipv4> chosen_address(const std::vector<HostInterface>& up, const std::string& include,
                                   const std::string& exclude) {
  for (const std::string& entry : entries_of(include)) {
    const auto found =
        std::ranges::find_if(up, [&](const HostInterface& each) { return is_meant(each, entry); });
    if (found != up.end()) return found->address;
  }
  std::optional<Ipv4> of_bridge;
  const std::vector<std::string> excluded = entries_of(exclude);
  for (const HostInterface& each : up) {
    const auto is_this = [&](const std::string& entry) { return is_meant(each, entry); };
    if (is_loopback(each) || std::ranges::any_of(excluded, is_this)) continue;
    if (!is_bridge(each)) return each.address;
    if (!of_bridge) of_bridge = each.address;
  }
  return of_bridge;
}

std::optional<Ipv4> address_of_host() {
  return chosen_address(interfaces_up(), process_variable("OMPI_MCA_btl_tcp_if_include").value_or(""),
                        process_variable("OMPI_MCA_btl_tcp_if_exclude").value_or(""));
}

}  // namespace skyline::evaluate
