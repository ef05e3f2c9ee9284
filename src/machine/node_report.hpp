#pragma once

#include "machine/device_binding.hpp"

#include <string>
#include <vector>

namespace skyline::machine {

/// What a node is said to have and use. Texts of one node are without its name; `ranks` are those of the
/// node, by local rank, and `bindings` theirs.

/// "8 x NVIDIA H100 80GB HBM3 (NUMA 0,0,0,0,1,1,1,1; PCIe 32.0 GT/s x16; 4 NVSwitches), a rank on each";
/// empty without GPUs.
std::string describe_gpus(const std::vector<RankView>& ranks, const std::vector<RankBinding>& bindings);

/// "InfiniBand mlx5_0 400 Gb/s active (near GPU 0,1), mlx5_1 down (polling); firmware 28.39.2048"; empty
/// without adapters.
std::string describe_fabric(const std::vector<RankView>& ranks);

/// Too many ranks for the GPUs, or too few.
/// @param groups  whether ranks train trials together, so that GPUs should reach each other
std::vector<std::string> binding_warnings(const std::vector<RankView>& ranks,
                                          const std::vector<RankBinding>& bindings, bool groups);

/// A text of each of several hosts, or ranks.
struct HostText {
  std::string host;
  std::string text;
};

/// One line a different text, in the order of their first hosts: "node01, node02: text". Empty texts are left
/// out, a host is named once.
std::vector<std::string> lines_by_host(const std::vector<HostText>& texts);

/// "node01, node02, node03 and 13 more"; each once.
std::string host_list(const std::vector<std::string>& hosts);

}  // namespace skyline::machine
