#pragma once

#include "core/system/open_file.hpp"
#include "evaluate/process/process_plan.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace skyline::evaluate {

/// The variable by which what a program leaves is found, in the environment of the launcher and of the
/// program.
constexpr std::string_view kMarkVariable = "SKYLINE_PROCESS_MARK=";

/// Returns the path of the launcher: SKYLINE_TRAINER_LAUNCHER, or skyline-launch as find_program_file finds
/// it.
/// @throws UserError if there is none
std::filesystem::path find_launcher();

/// This process's ends of the socket and the pipes to a launcher.
struct LauncherEnds {
  FileDescriptor control;  // socket to the launcher, which ends all when it is closed
  FileDescriptor report;   // pipe for reports, or socket; does not block; null without both
  FileDescriptor report_file;
};

/// A launcher that can be started.
struct LauncherPlan {
  LauncherEnds ours;
  // The launcher's descriptors, above the numbers that launch_protocol.hpp gives them.
  FileDescriptor log;
  FileDescriptor control;
  FileDescriptor report;  // null without reports and without a socket
  FileDescriptor held;    // null if nothing is held
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // variables of the launcher and its program
};

/// Opens and makes what a launcher of this program needs. This process begins to adopt orphans.
/// @param mark  the variable kMarkVariable with its value
/// @throws UserError if there is no launcher, or the log or the report file is something else than a file
/// @throws FaultError if the system refuses
LauncherPlan plan_launcher(const ProcessPlan& plan, const std::string& mark);

/// A launcher that was started.
struct StartedLauncher {
  LauncherEnds ends;
  pid_t id = 0;
};

using LauncherStart = std::function<StartedLauncher(const ProcessPlan& plan, const std::string& mark)>;

/// Starts a launcher as a child of this process. @throws as plan_launcher
StartedLauncher start_launcher(const ProcessPlan& plan, const std::string& mark);

}  // namespace skyline::evaluate
