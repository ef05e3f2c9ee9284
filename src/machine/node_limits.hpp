#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace skyline::machine {

/// What the system grants this process, beside processors by affinity. What has no limit, or is not told, is
/// empty.
struct NodeLimits {
  std::vector<int> processors = {};                // that the node, or the job's part of it, has; ascending
  std::vector<std::vector<int>> numa_nodes = {};   // processors of each
  std::optional<double> processor_quota = {};      // processors' worth of time, of the control groups
  std::optional<std::uint64_t> memory_bytes = {};  // likewise
  std::optional<std::uint64_t> memory_free_bytes = {};    // of the node, for anyone
  std::optional<std::uint64_t> shared_memory_bytes = {};  // size of /dev/shm
  std::optional<std::uint64_t> locked_memory_bytes = {};
  std::optional<std::uint64_t> open_files = {};
};

/// Reads the system's files and this process' limits.
/// @param root  of the file system; "/" but for tests
NodeLimits read_node_limits(const std::filesystem::path& root);

}  // namespace skyline::machine
