#pragma once

#include "evaluate/command/command_options.hpp"

#include <map>
#include <string>
#include <vector>

namespace skyline::evaluate {

/// Return the checksums of the files of programs by the names that the configuration has for them: of `run`,
/// or the function of `python`, and of metrics that programs measure. Files are arguments without
/// placeholders that name a regular file of at most 16 MiB. Left out are programs without a path, which are
/// found in PATH, and files of the system (/usr but /usr/local, /bin, /sbin), which differ from host to host.
std::map<std::string, std::string> program_checksums(const CommandOptions& options);
std::map<std::string, std::string> program_checksums(const std::vector<CommandMetric>& metrics);

}  // namespace skyline::evaluate
