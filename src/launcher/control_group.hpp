#pragma once

#include "launcher/launch_protocol.hpp"
#include "launcher/options.hpp"

#include <cstdint>
#include <optional>
#include <string>

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

/// Returns how often the kernel has ended a process for lack of memory, as the system and this process's own
/// groups count it: a container may see only the latter. The sum means nothing but that it grows.
/// @param root  of the system; another one in tests
std::uint64_t out_of_memory_kills(const std::string& root = "");

}  // namespace skyline::launcher
