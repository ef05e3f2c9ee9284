#include "evaluate/process/process_plan.hpp"

#include "skyline/core/error.hpp"

#include "core/config/byte_size.hpp"
#include "core/system/process.hpp"
#include "core/text/foreign_text.hpp"

#include <sstream>
#include <system_error>

#include <unistd.h>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders_of(const std::string& path) {
  std::vector<fs::path> folders;
  std::istringstream text(path);
  for (std::string folder; std::getline(text, folder, ':');) {
    if (folder.starts_with('/')) folders.emplace_back(folder);
  }
  return folders;
}

bool is_executable(const fs::path& file) {
  std::error_code failure;
  return fs::is_regular_file(file, failure) && access(file.c_str(), X_OK) == 0;
}

}  // namespace

const OptionTable<ProcessLimits>& ProcessLimits::table() {
  static const OptionTable<ProcessLimits> table{
      {"memory", &ProcessLimits::memory_bytes, if_given(byte_size()),
       "Most memory of all processes of an attempt on a host together.", KeyRule::kMayChange},
      {"processes", &ProcessLimits::processes, if_given(integer<std::uint64_t>(at_least(1))),
       "Most processes and threads of an attempt on a host together, as pids.max of control groups counts "
       "them.",
       KeyRule::kMayChange},
      {"open_files", &ProcessLimits::open_files, if_given(integer<std::uint64_t>(at_least(16))),
       "Most open files of each process.", KeyRule::kMayChange}};
  return table;
}

fs::path find_program(const std::string& program, const std::string& path) {
  if (program.find('/') != std::string::npos) {
    const fs::path file = fs::absolute(program);
    if (is_executable(file)) return file;
    std::error_code failure;
    throw UserError(in_quotes(program) +
                    (fs::exists(file, failure) ? " cannot be executed" : " is not there") + " on " +
                    host_name());
  }
  std::string reason = " is in no folder of PATH on ";
  for (const fs::path& folder : folders_of(path)) {
    if (is_executable(folder / program)) return folder / program;
    std::error_code failure;
    if (fs::is_regular_file(folder / program, failure)) reason = " cannot be executed on ";
  }
  throw UserError(in_quotes(program) + reason + host_name());
}

}  // namespace skyline::evaluate
