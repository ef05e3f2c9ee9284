#pragma once

#include "report/compare/comparison.hpp"
#include "run/opened_run.hpp"
#include "store/journal/courses.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace skyline::report {

/// A run with all that its report shows.
struct ReportedRun {
  std::string name;   // of its folder; of several runs: no two alike
  std::string state;  // running, stopping, stopped, finished, failed; "not running" if a job of it was killed
  run::OpenedRun opened;
  store::Courses courses = {};
  std::string config = {};                 // text
  std::vector<std::string> warnings = {};  // lines of the log, the latest last
  std::size_t more_warnings = 0;           // earlier ones, which are left out
};

/// Adds to a run what its report shows beside it, from its folder. @throws UserError if a file is damaged
ReportedRun reported_run(run::OpenedRun opened, const std::string& state);
/// Reads a run's folder and changes nothing; a job may be working on it.
/// @throws UserError if there is no run in the folder, or a file of it is damaged
ReportedRun read_reported_run(const std::filesystem::path& folder);

struct ReportOptions {
  std::optional<int> reload_s = {};           // the page loads itself again after so many seconds
  std::optional<Comparison> comparison = {};  // of several runs
  std::string no_comparison = {};             // why there is none; empty: there is one run
};

/// An HTML page of the runs that needs no other file and no network.
std::string report_page(std::span<const ReportedRun> runs, const ReportOptions& options = {});

}  // namespace skyline::report
