#include "evaluate/command/host_address.hpp"

#include "core/system/process.hpp"

#include <array>
#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace skyline::evaluate {

std::string dotted(Ipv4 address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  const in_addr number{htonl(address)};
  return inet_ntop(AF_INET, &number, text.data(), text.size()) == nullptr ? "" : text.data();
}

std::optional<Ipv4> address_of_host() {
  const std::string wanted = process_variable("OMPI_MCA_btl_tcp_if_include").value_or("");
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  std::optional<Ipv4> first;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    const bool is_up = (each->ifa_flags & IFF_UP) != 0;
    if (!is_up || each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    const Ipv4 address = ntohl(reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr.s_addr);
    if (wanted == each->ifa_name) return address;
    if ((each->ifa_flags & IFF_LOOPBACK) == 0 && !first) first = address;
  }
  return first;
}

}  // namespace skyline::evaluate
