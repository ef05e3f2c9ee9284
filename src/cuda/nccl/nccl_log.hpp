#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace skyline::cuda {

/// How NCCL connected the members of its communicators, from its log: no call tells it.
struct NcclTransport {
  bool infiniband = false;         // some members reach each other over InfiniBand or RoCE,
  bool gpu_direct = false;         // from device to adapter without the host's memory,
  bool sockets = false;            // over TCP,
  bool peer = false;               // directly, over NVLink or PCIe,
  bool shared_memory = false;      // or through the host's memory
  std::vector<std::string> ports;  // of InfiniBand, in NCCL's order: "mlx5_0:1"

  bool is_known() const { return infiniband || sockets || peer || shared_memory; }
  /// Describes the transports: "InfiniBand (mlx5_0:1, mlx5_1:1; GPUDirect) and NVLink or PCIe".
  std::string describe() const;
};

/// @param text   what NCCL wrote with NCCL_DEBUG=INFO, of one process; other lines may be in between
/// @param known  result for the earlier text
NcclTransport parse_nccl_log(std::string_view text, NcclTransport known = {});

/// The file that NCCL writes to. @param pattern  NCCL_DEBUG_FILE, with %h for the host, %p for the process
std::string nccl_log_path(std::string_view pattern, std::string_view host, long process);

}  // namespace skyline::cuda
