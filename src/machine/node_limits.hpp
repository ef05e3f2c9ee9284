#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace skyline::machine {

/// The limits that the system sets this process, beside its affinity mask. Empty: no limit, or unknown.
struct NodeLimits {
  std::vector<int> processors = {};                     // of the node, or of the job's part of it; ascending
  std::vector<std::vector<int>> numa_nodes = {};        // processors of each NUMA node
  std::optional<double> processor_quota = {};           // processors' worth of time, of the control groups
  std::optional<std::uint64_t> memory_bytes = {};       // from the control groups
  std::optional<std::uint64_t> memory_free_bytes = {};  // free on the node
  std::optional<std::uint64_t> shared_memory_bytes = {};  // size of /dev/shm
  std::optional<std::uint64_t> locked_memory_bytes = {};
  std::optional<std::uint64_t> open_files = {};
};

/// Reads the system's files and this process' limits.
/// @param root  of the file system; "/" but for tests
NodeLimits read_node_limits(const std::filesystem::path& root);

}  // namespace skyline::machine
