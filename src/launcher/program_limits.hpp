#pragma once

#include "core/system/process_tree.hpp"
#include "launcher/launch_protocol.hpp"
#include "launcher/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace skyline::launcher {

/// A control group (version 2) of one program, in which the kernel itself keeps the limits of memory and of
/// processes. It stands beside the group of this process, if their parent was delegated to the job. It is
/// removed with this object, when its processes are gone.
class ControlGroup {
 public:
  /// Makes the group. Returns none if the program has no limits, and where there is no version 2, its
  /// controllers are not to be had, or the parent was not delegated to this job (`user.delegate`, as systemd
  /// marks it).
  /// @param root  of the system; another one in tests
  static std::optional<ControlGroup> make(const Options& options, const std::string& root = "");

  ControlGroup(ControlGroup&& other) noexcept;
  ControlGroup& operator=(ControlGroup&&) = delete;
  ~ControlGroup();

  /// Moves a process into the group, with what it starts from now on; 0 is this process. Returns false and
  /// sets errno if that fails.
  bool add_process(pid_t process) const;
  /// Returns the notice of the program's end if it has asked for more than a limit, or if the kernel has
  /// ended one of its processes for lack of memory.
  std::optional<Notice> excess() const;

 private:
  ControlGroup(std::string folder, const Options& options);

  std::string folder_;
  std::uint64_t memory_;
  std::uint64_t processes_;
};

/// Compares a tree of processes with its limits, where no control group keeps them. What exceeds a limit at
/// two checks in a row, or is twice as much at one, is too much.
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

/// Returns how often the kernel has ended a process for lack of memory, as the system and this process's own
/// groups count it: a container may see only the latter. The sum means nothing but that it grows.
/// @param root  of the system; another one in tests
std::uint64_t out_of_memory_kills(const std::string& root = "");

}  // namespace skyline::launcher
