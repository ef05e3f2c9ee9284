#include "machine/node.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "core/system/control_groups.hpp"
#include "machine/system_file.hpp"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <system_error>

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace skyline::machine {
namespace {

using Masks = std::vector<std::vector<int>>;

/// Shares a mask that all ranks have: each rank gets a block of neighbours, because neighbours share caches.
void share_equal_mask(const std::vector<int>& mask, const std::vector<std::size_t>& ranks, Masks& shares) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (mask.size() < ranks.size()) {
      shares[ranks[i]] = {mask[i % mask.size()]};
      continue;
    }
    const std::size_t begin = i * mask.size() / ranks.size();
    const std::size_t end = (i + 1) * mask.size() / ranks.size();
    shares[ranks[i]].assign(mask.begin() + static_cast<std::ptrdiff_t>(begin),
                            mask.begin() + static_cast<std::ptrdiff_t>(end));
  }
}

/// Shares masks that overlap in part: the processor with the fewest candidates is given first, to the
/// candidate with the fewest processors.
void share_overlapping_masks(const Masks& masks, const std::vector<std::size_t>& ranks, Masks& shares) {
  std::map<int, std::vector<std::size_t>> candidates;
  for (const std::size_t rank : ranks) {
    for (const int processor : masks[rank]) candidates[processor].push_back(rank);
  }
  std::vector<int> order;
  for (const auto& [processor, wanted_by] : candidates) order.push_back(processor);
  std::ranges::stable_sort(order, {}, [&](int processor) { return candidates.at(processor).size(); });

  std::map<int, std::size_t> users;
  const auto give = [&](int processor, std::size_t rank) {
    shares[rank].push_back(processor);
    ++users[processor];
  };
  for (const int processor : order) {
    give(processor, *std::ranges::min_element(candidates.at(processor), {},
                                              [&](std::size_t rank) { return shares[rank].size(); }));
  }
  for (const std::size_t rank : ranks) {
    if (shares[rank].empty()) {
      give(*std::ranges::min_element(masks[rank], {}, [&](int processor) { return users[processor]; }), rank);
    }
    std::ranges::sort(shares[rank]);
  }
}

bool overlap(const std::vector<int>& left, const std::vector<int>& right) {
  return std::ranges::any_of(left,
                             [&](int processor) { return std::ranges::binary_search(right, processor); });
}

/// Returns for each rank r the smallest rank that is linked with r's mask by a chain of overlaps.
std::vector<std::size_t> overlap_groups(const Masks& masks) {
  std::vector<std::size_t> group(masks.size());
  for (std::size_t rank = 0; rank < masks.size(); ++rank) {
    group[rank] = rank;
    for (std::size_t other = 0; other < rank; ++other) {
      if (group[other] == group[rank] || !overlap(masks[other], masks[rank])) continue;
      const auto [kept, dropped] = std::minmax(group[other], group[rank]);
      std::replace(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(rank) + 1, std::size_t{dropped},
                   std::size_t{kept});
    }
  }
  return group;
}

namespace fs = std::filesystem;

// Version 1 of control groups writes "no limit" as the largest number of pages.
constexpr double kNoLimit = 1e18;

void lower(std::optional<double>& least, std::optional<double> value) {
  if (value && *value > 0 && *value < kNoLimit) least = std::min(*value, least.value_or(*value));
}

std::optional<double> number_of(const fs::path& file) {
  return parse_number(read_system_line(file));
}

/// Returns the quota in processors, from "200000 100000" (microseconds per period) in cpu.max, or 0 if there
/// is none.
double quota_of(const fs::path& group) {
  const std::string line = read_system_line(group / "cpu.max");
  const auto blank = line.find(' ');
  if (blank != std::string::npos) {
    return parse_number(line.substr(0, blank)).value_or(0) / parse_number(line.substr(blank + 1)).value_or(1);
  }
  return number_of(group / "cpu.cfs_quota_us").value_or(0) /
         number_of(group / "cpu.cfs_period_us").value_or(1);
}

std::optional<double> processor_quota(const fs::path& root) {
  std::optional<double> least;
  for (const fs::path& group : control_groups(root, "cpu")) lower(least, quota_of(group));
  return least;
}

/// Returns the memory limit of this control group alone, in bytes, without the limits of its parents.
std::optional<double> memory_limit_of(const fs::path& group) {
  std::optional<double> limit;
  lower(limit, number_of(group / "memory.max"));
  lower(limit, number_of(group / "memory.limit_in_bytes"));
  return limit;
}

std::optional<std::uint64_t> memory_limit(const fs::path& root) {
  std::optional<double> least;
  for (const fs::path& group : control_groups(root, "memory")) lower(least, memory_limit_of(group));
  if (!least) return std::nullopt;
  return static_cast<std::uint64_t>(*least);
}

/// Returns the processors of the job's set if there is one, else all that are online.
std::vector<int> processors_of_job(const fs::path& root) {
  for (const fs::path& group : control_groups(root, "cpuset")) {
    for (const char* file : {"cpuset.cpus.effective", "cpuset.effective_cpus"}) {
      std::vector<int> processors = parse_processor_list(read_system_line(group / file));
      if (!processors.empty()) return processors;
    }
  }
  return parse_processor_list(read_system_line(root / "sys/devices/system/cpu/online"));
}

std::vector<std::vector<int>> read_numa_nodes(const fs::path& root) {
  std::vector<std::vector<int>> nodes;
  const fs::path folder = root / "sys/devices/system/node";
  for (const std::string& name : list_system_folder(folder)) {
    if (!name.starts_with("node")) continue;
    std::vector<int> processors = parse_processor_list(read_system_line(folder / name / "cpulist"));
    if (!processors.empty()) nodes.push_back(std::move(processors));
  }
  return nodes;
}

/// Reads the line "MemAvailable:   1234 kB".
std::optional<std::uint64_t> free_memory(const fs::path& root) {
  std::ifstream lines(root / "proc/meminfo");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t kilobytes = 0;
    if (words >> key >> kilobytes && key == "MemAvailable:") return 1024 * kilobytes;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> shared_memory(const fs::path& root) {
  struct statvfs space {};
  if (::statvfs((root / "dev/shm").c_str(), &space) != 0) return std::nullopt;
  return std::uint64_t{space.f_blocks} * space.f_frsize;
}

std::optional<std::uint64_t> process_limit(decltype(RLIMIT_NOFILE) resource) {
  struct rlimit limit {};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return std::uint64_t{limit.rlim_cur};
}

/// Returns what is left of the limit of addresses, which counts libraries, stacks and caches, too.
std::optional<std::uint64_t> free_addresses(const fs::path& root) {
  const std::optional<std::uint64_t> limit = process_limit(RLIMIT_AS);
  if (!limit) return std::nullopt;
  const std::string line = read_system_line(root / "proc/self/statm");
  const double pages = parse_number(line.substr(0, line.find(' '))).value_or(0);
  const auto used = static_cast<std::uint64_t>(pages * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  return *limit - std::min(*limit, used);
}

}  // namespace

std::vector<std::vector<int>> share_processors(const std::vector<std::vector<int>>& masks) {
  for (const auto& mask : masks) require(!mask.empty(), "a rank has no processor to run on");
  const std::vector<std::size_t> group = overlap_groups(masks);
  Masks shares(masks.size());
  for (std::size_t first = 0; first < masks.size(); ++first) {
    if (group[first] != first) continue;
    std::vector<std::size_t> members;
    bool equal = true;
    for (std::size_t rank = first; rank < masks.size(); ++rank) {
      if (group[rank] != first) continue;
      members.push_back(rank);
      equal = equal && masks[rank] == masks[first];
    }
    if (equal) {
      share_equal_mask(masks[first], members, shares);
    } else {
      share_overlapping_masks(masks, members, shares);
    }
  }
  return shares;
}

std::vector<int> all_processors(const std::vector<std::vector<int>>& masks) {
  std::set<int> processors;
  for (const auto& mask : masks) processors.insert(mask.begin(), mask.end());
  return {processors.begin(), processors.end()};
}

int count_sharing_ranks(const std::vector<std::vector<int>>& shares) {
  std::map<int, int> users;
  for (const auto& share : shares) {
    for (const int processor : share) ++users[processor];
  }
  return static_cast<int>(std::ranges::count_if(shares, [&](const std::vector<int>& share) {
    return std::ranges::none_of(share, [&](int processor) { return users.at(processor) == 1; });
  }));
}

NodeLimits read_node_limits(const fs::path& root) {
  return {.processors = processors_of_job(root),
          .numa_nodes = read_numa_nodes(root),
          .processor_quota = processor_quota(root),
          .memory_bytes = memory_limit(root),
          .memory_free_bytes = free_memory(root),
          .shared_memory_bytes = shared_memory(root),
          .locked_memory_bytes = process_limit(RLIMIT_MEMLOCK),
          .open_files = process_limit(RLIMIT_NOFILE),
          .free_address_bytes = free_addresses(root)};
}

std::string processor_model(const fs::path& root) {
  std::ifstream file(root / "proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname system{};
  return ::uname(&system) == 0 ? system.machine : "unknown";
}

fs::path oom_kills_file(const fs::path& root) {
  std::optional<fs::path> innermost;
  for (const fs::path& group : control_groups(root, "memory")) {
    for (const char* name : {"memory.events", "memory.oom_control"}) {
      std::error_code unreadable;
      if (!fs::exists(group / name, unreadable)) continue;
      if (memory_limit_of(group)) return group / name;
      if (!innermost) innermost = group / name;
    }
  }
  return innermost.value_or(root / "proc/vmstat");
}

}  // namespace skyline::machine
