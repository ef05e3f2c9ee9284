#include "evaluate/process/host_resources.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace skyline::evaluate {
namespace {

constexpr int kFirstPort = 1024;
constexpr int kDefaultPorts = 8192;

/// Claims the number among all processes of this host and user network: an abstract name of a socket belongs
/// to one of them, and is free again when that process ends, however it does.
std::optional<FileDescriptor> claim(int port) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw FaultError("cannot claim a port: " + system_error_text(errno));
  const std::string name = "skyline-port-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(&address.sun_path[1], sizeof address.sun_path - 1);  // abstract: begins with 0
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return std::nullopt;
  return socket;
}

/// Returns whether nobody listens on the port at any address. A port that rests after a connection counts as
/// free, as it does for the programs that use it.
template <typename Address>
std::optional<bool> is_free(int family, const Address& address) {
  const FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return std::nullopt;  // a host without this family of addresses
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return errno == EADDRNOTAVAIL ? std::nullopt : std::optional(false);
  }
  return ::listen(socket.get(), 1) == 0;
}

bool is_free(int port) {
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = ipv4.sin_port;
  return is_free(AF_INET, ipv4).value_or(true) && is_free(AF_INET6, ipv6).value_or(true);
}

}  // namespace

PortRange ephemeral_ports() {
  PortRange range;
  int last = 0;
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  if (file >> range.first >> last) return {range.first, last + 1};
  return {32768, 61000};
}

PortRange default_ports(const PortRange& ephemeral) {
  return {std::max(kFirstPort, ephemeral.first - kDefaultPorts), ephemeral.first};
}

PortRange ports_of_rank(const PortRange& range, int node_rank, int node_ranks) {
  require(0 <= node_rank && node_rank < node_ranks, "a rank outside its node");
  const int share = range.size() / node_ranks;
  return {range.first + node_rank * share, range.first + (node_rank + 1) * share};
}

TakenPort PortBlock::acquire() {
  const std::lock_guard lock(mutex_);
  for (int tried = 0; tried < range_.size(); ++tried) {
    const int port = next_;
    next_ = next_ + 1 < range_.end ? next_ + 1 : range_.first;
    std::optional<FileDescriptor> claimed = claim(port);
    if (claimed && is_free(port)) return {port, std::move(*claimed)};
  }
  throw FaultError("no port from " + std::to_string(range_.first) + " to " + std::to_string(range_.end - 1) +
                   " is free");
}

ProcessorShares::ProcessorShares(std::vector<int> processors) {
  for (const int number : processors) processors_.push_back({number, 0});
}

ProcessorShares::Share ProcessorShares::acquire(std::size_t count) {
  const std::lock_guard lock(mutex_);
  std::ranges::sort(processors_, {},
                    [](const Processor& each) { return std::pair(each.users, each.number); });
  std::vector<int> taken;
  for (Processor& processor : processors_) {
    if (taken.size() == count) break;
    ++processor.users;
    taken.push_back(processor.number);
  }
  std::ranges::sort(taken);
  return {*this, std::move(taken)};
}

void ProcessorShares::give_back(const std::vector<int>& processors) {
  const std::lock_guard lock(mutex_);
  for (Processor& processor : processors_) {
    if (std::ranges::count(processors, processor.number) > 0) --processor.users;
  }
}

}  // namespace skyline::evaluate
