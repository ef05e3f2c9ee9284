#include "cuda/nccl/nccl_log.hpp"

#include "core/text/wording.hpp"

#include <algorithm>
#include <utility>

namespace skyline::cuda {
namespace {

bool has(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

/// From "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.4<0>".
std::vector<std::string> ports_of(std::string_view line) {
  std::vector<std::string> ports;
  line = line.substr(0, line.find(';'));
  for (std::size_t open = line.find('['); open != std::string_view::npos; open = line.find('[', open + 1)) {
    const std::size_t begin = line.find(']', open) + 1;
    const std::size_t end = begin == 0 ? begin : line.find('/', begin);
    if (begin != 0 && end != std::string_view::npos && line.find_first_of("[ ", begin) >= end) {
      ports.emplace_back(line.substr(begin, end - begin));
    }
  }
  return ports;
}

/// "Channel 00/0 : 1[7] -> 2[0] [send] via NET/IB/0/GDRDMA"
void read_channel(std::string_view line, NcclTransport& transport) {
  const std::string_view way = line.substr(line.find(" via ") + 5);
  transport.infiniband |= way.starts_with("NET/IB");
  transport.gpu_direct |= way.starts_with("NET/IB") && has(way, "GDRDMA");
  transport.sockets |= way.starts_with("NET/Socket");
  transport.peer |= way.starts_with("P2P/");
  transport.shared_memory |= way.starts_with("SHM");
}

}  // namespace

std::string NcclTransport::describe() const {
  std::vector<std::string> ways;
  if (infiniband) {
    std::string adapters = joined(ports, ", ");
    if (gpu_direct) {
      adapters += adapters.empty() ? "GPUDirect" : "; GPUDirect";
    }
    ways.push_back(adapters.empty() ? "InfiniBand" : "InfiniBand (" + adapters + ")");
  }
  if (sockets) ways.emplace_back("TCP");
  if (peer) ways.emplace_back("NVLink or PCIe");
  if (shared_memory) ways.emplace_back("memory of the host");
  return joined(ways, " and ");
}

NcclTransport parse_nccl_log(std::string_view text, NcclTransport known) {
  NcclTransport transport = std::move(known);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (has(line, "NET/IB : Using [")) {
      transport.ports = ports_of(line);
    } else if (has(line, "Channel ") && has(line, " via ")) {
      read_channel(line, transport);
    }
  }
  return transport;
}

std::string nccl_log_path(std::string_view pattern, std::string_view host, long process) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'h') {
      path += host;
    } else if (next == 'p') {
      path += std::to_string(process);
    } else if (next == '%') {
      path += '%';
    } else {
      path += pattern[i];
      continue;
    }
    ++i;
  }
  return path;
}

}  // namespace skyline::cuda
