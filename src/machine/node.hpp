#pragma once

#include "machine/device_binding.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace skyline::machine {

/// The limits that the system sets for this process, besides its affinity mask. A member without a value
/// means no limit, or an unknown one.
struct NodeLimits {
  std::vector<int> processors = {};  // processors of the node, or of the job's part of it; ascending
  std::vector<std::vector<int>> numa_nodes = {};   // processors of each NUMA node
  std::optional<double> processor_quota = {};      // processor time per wall time, from the control groups
  std::optional<std::uint64_t> memory_bytes = {};  // limit of the control groups
  std::optional<std::uint64_t> memory_free_bytes = {};    // free memory of the node
  std::optional<std::uint64_t> shared_memory_bytes = {};  // size of /dev/shm
  std::optional<std::uint64_t> locked_memory_bytes = {};
  std::optional<std::uint64_t> open_files = {};
  // Address space that this process may still map (ulimit -v).
  std::optional<std::uint64_t> free_address_bytes = {};
};

/// Reads the system's files and this process' limits.
/// @param root  root of the file system; tests use another one than "/"
NodeLimits read_node_limits(const std::filesystem::path& root);

/// Returns the processor's name, e.g. "AMD EPYC 7763 64-Core Processor", or the kind of machine where the
/// system tells none ("aarch64").
/// @param root  root of the file system; tests use another one than "/"
std::string processor_model(const std::filesystem::path& root);

/// Returns the file with the line "oom_kill 3", which counts the processes that the OOM killer has ended. It
/// belongs to the innermost control group with a memory limit: a batch system may put each process into a
/// group of its own, without a limit, below the one that they share. If no group has a limit, the innermost
/// group that counts is used, else the machine's file.
/// @param root  root of the file system; tests use another one than "/"
std::filesystem::path oom_kills_file(const std::filesystem::path& root);

/// Shares the processors of a node among its ranks. A mask that overlaps with no other stays whole; the
/// processors of overlapping masks are distributed evenly. Every rank gets at least one; if there are fewer
/// processors than ranks, some share one. Deterministic, so that every rank computes the same.
/// @param masks  [ranks of the node], affinity mask of each, ascending, not empty
/// @return       [ranks of the node], ascending
std::vector<std::vector<int>> share_processors(const std::vector<std::vector<int>>& masks);

/// All processors of the masks, each once, ascending.
std::vector<int> all_processors(const std::vector<std::vector<int>>& masks);

/// Returns the number of ranks that share a processor.
/// @param shares  the result of share_processors
int count_sharing_ranks(const std::vector<std::vector<int>>& shares);

/// Texts about the hardware of a node and its use, without the node's name. `ranks` are the ranks of the
/// node, by local rank; `bindings` belong to them.

/// "8 x NVIDIA H100 80GB HBM3 (NUMA 0,0,0,0,1,1,1,1; PCIe 32.0 GT/s x16; 4 NVSwitches), a rank on each";
/// empty without GPUs.
std::string describe_gpus(const std::vector<RankView>& ranks, const std::vector<RankBinding>& bindings);

/// "InfiniBand mlx5_0 400 Gb/s active (near GPU 0,1), mlx5_1 down (polling); firmware 28.39.2048"; empty
/// without adapters.
std::string describe_fabric(const std::vector<RankView>& ranks);

/// Returns warnings about too many or too few ranks for the GPUs.
/// @param groups  true if ranks train trials together, so that GPUs should reach each other
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
