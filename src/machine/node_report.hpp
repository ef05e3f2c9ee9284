#pragma once

#include "machine/device_binding.hpp"

#include <string>
#include <vector>

namespace skyline::machine {

/// Texts about what a node has and uses, without the node's name. `ranks` are those of the node, by local
/// rank; `bindings` are theirs.

/// "8 x NVIDIA H100 80GB HBM3 (NUMA 0,0,0,0,1,1,1,1; PCIe 32.0 GT/s x16; 4 NVSwitches), a rank on each";
/// empty without GPUs.
std::string describe_gpus(const std::vector<RankView>& ranks, const std::vector<RankBinding>& bindings);

/// "InfiniBand mlx5_0 400 Gb/s active (near GPU 0,1), mlx5_1 down (polling); firmware 28.39.2048"; empty
/// without adapters.
std::string describe_fabric(const std::vector<RankView>& ranks);

/// Warnings about too many or too few ranks for the GPUs.
/// @param groups  whether ranks train trials together, so that GPUs should reach each other
std::vector<std::string> binding_warnings(const std::vector<RankView>& ranks,
                                          const std::vector<RankBinding>& bindings, bool groups);

/// A text about one host or rank.
struct HostText {
  std::string host;
  std::string text;
};

/// One line per distinct text, in the order of their first hosts: "node01, node02: text". Empty texts are
/// left out; a host is named once per line.
std::vector<std::string> lines_by_host(const std::vector<HostText>& texts);

/// Lists hosts, each once: "node01, node02, node03 and 13 more".
std::string host_list(const std::vector<std::string>& hosts);

}  // namespace skyline::machine
