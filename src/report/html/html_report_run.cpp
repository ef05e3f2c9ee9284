#include "report/files/trial_results.hpp"
#include "report/html/html_report.hpp"
#include "report/text/status_file.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

namespace skyline::report {
namespace {

constexpr std::size_t kMostWarnings = 200;

std::string state_of(const store::RunPaths& paths, const RunStatus& status) {
  const std::optional<store::RunOwner> owner = store::read_owner(paths);
  const bool claims_to_run = status.state == "running" || status.state == "stopping";
  return claims_to_run && !(owner && owner->active) ? "not running" : status.state;
}

/// Returns whether a line of the log ("2026-05-01 10:00:00.000 warning ...") is a warning or an error.
bool is_warning(std::string_view line) {
  const std::size_t date = line.find(' ');
  const std::size_t time = date == std::string_view::npos ? date : line.find(' ', date + 1);
  if (time == std::string_view::npos) return false;
  const std::string_view rest = line.substr(time + 1);
  return rest.starts_with("warning ") || rest.starts_with("error ");
}

void read_warnings(ReportedRun& run) {
  const auto path = run.opened.paths.log();
  if (!store::exists(path)) return;
  std::istringstream log(store::read_file(path));
  for (std::string line; std::getline(log, line);) {
    if (is_warning(line)) run.warnings.push_back(line);
  }
  if (run.warnings.size() <= kMostWarnings) return;
  run.more_warnings = run.warnings.size() - kMostWarnings;
  run.warnings.erase(run.warnings.begin(), run.warnings.end() - kMostWarnings);
}

}  // namespace

ReportedRun reported_run(run::OpenedRun opened, const std::string& state) {
  ReportedRun run{.name = run_name(opened.paths), .state = state, .opened = std::move(opened)};
  const store::RunPaths& paths = run.opened.paths;
  run.courses = store::read_courses(paths, run.opened.header.metrics);
  run.config = store::read_file(paths.config());
  read_warnings(run);
  return run;
}

ReportedRun read_reported_run(const std::filesystem::path& folder) {
  run::OpenedRun opened = run::OpenedRun::open(folder);
  const RunStatus status = read_status(opened.paths).value_or(RunStatus());
  opened.state.set_remark(status.remark);
  const std::string state = state_of(opened.paths, status);
  return reported_run(std::move(opened), state);
}

}  // namespace skyline::report
