#pragma once

#include "core/system/process_tree.hpp"
#include "launcher/launch_protocol.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace skyline::launcher {

/// Compares a tree of processes with its limits. What exceeds a limit at two checks in a row, or is twice as
/// much at one, is too much.
class TreeLimits {
 public:
  /// @param memory     bytes; 0 for no limit
  /// @param processes  number of processes and their threads, as the kernel counts them; 0 for no limit
  TreeLimits(std::uint64_t memory, std::uint64_t processes)
      : memory_{memory, News::kOutOfMemory}, processes_{processes, News::kManyProcesses} {}
  bool counts_processes() const { return processes_.most > 0; }
  bool exist() const { return memory_.most > 0 || counts_processes(); }
  /// Returns whether the whole system has so many more processes than at the last check that another check
  /// should not wait. Cheap.
  bool should_check() const;
  /// Returns the notice of the tree's end if it has too much.
  std::optional<Notice> check(const std::vector<ListedProcess>& tree);

 private:
  struct Limit {
    std::uint64_t most = 0;
    News news = News::kOutOfMemory;
    bool was_exceeded = false;
    std::optional<Notice> check(std::uint64_t amount);
  };

  Limit memory_;
  Limit processes_;
  std::uint64_t system_processes_ = 0;  // at the last check
};

}  // namespace skyline::launcher
