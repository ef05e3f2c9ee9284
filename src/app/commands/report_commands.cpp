// The commands that show what runs have done: a page of them, their comparison, a trace of a run's slots, its
// trials for TensorBoard.
#include "skyline/core/error.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/output_file.hpp"
#include "app/config/config_file.hpp"
#include "app/config/evaluator_section.hpp"
#include "app/job/stop_request.hpp"
#include "core/system/temporary_folder.hpp"
#include "core/text/wording.hpp"
#include "report/compare/comparison.hpp"
#include "report/html/html_report.hpp"
#include "report/text/run_account.hpp"
#include "report/tracking/tracking.hpp"
#include "run/opened_run.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::vector<fs::path> runs;  // at least one
  fs::path out;                // if empty: report.html, in the run's folder if there is one run
  bool force = false;          // overwrite an existing file that the user named
  bool no_samples = false;     // leave out pictures of samples
  std::optional<int> watch_s;  // if given: write the page again after so many seconds, until the runs end
};

constexpr int kMostWatch_s = 1'000'000;  // the page counts its milliseconds in 32 bits

/// Renames runs with the same name in several folders to their paths ("a/run", "b/run").
void name_apart(std::vector<report::ReportedRun>& runs) {
  std::map<std::string, int> names;
  for (const report::ReportedRun& run : runs) ++names[run.name];
  for (report::ReportedRun& run : runs) {
    if (names[run.name] > 1) run.name = run.opened.paths.root.lexically_normal().string();
  }
}

fs::path output_of(const ReportArguments& arguments) {
  if (!arguments.out.empty()) return arguments.out;
  if (arguments.runs.size() > 1) return "report.html";
  return store::RunPaths{arguments.runs.front()}.report_html();
}

/// Compares runs if there are several with trials. Runs that cannot be compared are still shown on one page.
void compare(const std::vector<report::ReportedRun>& runs, report::ReportOptions& options) {
  std::vector<report::ComparedRun> compared;
  for (const report::ReportedRun& run : runs) {
    if (run.opened.state.committed(trial::Phase::kSearch) == 0) continue;
    compared.push_back({&run.opened, identity_of(run.opened.config), run.name});
  }
  if (compared.size() < 2) return;
  try {
    options.comparison = report::compare_runs(std::move(compared));
  } catch (const UserError& problem) {
    options.no_comparison = problem.what();
  }
}

/// Writes the page and returns whether a job is still working on one of the runs.
/// @param overwrites  whether it may replace an existing file
bool write_report(const ReportArguments& arguments, const fs::path& out, bool overwrites) {
  std::vector<report::ReportedRun> runs;
  for (const fs::path& run : arguments.runs) runs.push_back(report::read_reported_run(run));
  for (report::ReportedRun& run : runs) {
    run.may_be_lucky = may_depend_on_seeds(run.opened.config);
    run.shows_samples = !arguments.no_samples;
  }
  name_apart(runs);
  const bool going_on = std::ranges::any_of(
      runs, [](const report::ReportedRun& run) { return run.state == "running" || run.state == "stopping"; });
  report::ReportOptions options{.reload_s = going_on ? arguments.watch_s : std::nullopt};
  compare(runs, options);
  const std::string page = report::report_page(runs, options);
  write_output(out, page, overwrites);
  return going_on;
}

int run_report(const ReportArguments& arguments) {
  const fs::path out = output_of(arguments);
  const bool is_ours = arguments.out.empty() && arguments.runs.size() == 1;
  bool going_on = write_report(arguments, out, is_ours || arguments.force);
  std::cout << "skyline: wrote " << out.string() << ", for any browser" << std::endl;
  while (going_on && arguments.watch_s) {
    std::this_thread::sleep_for(std::chrono::seconds(*arguments.watch_s));
    try {
      going_on = write_report(arguments, out, true);
    } catch (const FaultError& problem) {
      print_error(problem.what() + std::string("; trying again"));
    }
  }
  return kExitDone;
}

struct CompareArguments {
  std::vector<fs::path> runs;
  bool csv = false;     // print statistics as CSV
  bool curves = false;  // print hypervolumes by trial as CSV
  bool seen = false;    // take values of the runs for the ends that objectives lack
};

int run_compare(const CompareArguments& arguments) {
  std::list<run::OpenedRun> opened;
  std::vector<report::ComparedRun> runs;
  for (const fs::path& folder : arguments.runs) {
    opened.push_back(run::OpenedRun::open(folder));
    runs.push_back({&opened.back(), identity_of(opened.back().config), folder.string()});
  }
  const auto unknown = arguments.seen ? report::UnknownEnds::kSeen : report::UnknownEnds::kNothing;
  const report::Comparison comparison = report::compare_runs(std::move(runs), unknown);
  if (arguments.curves) {
    std::cout << report::curves_csv(comparison, unknown);
  } else {
    std::cout << (arguments.csv ? report::comparison_csv(comparison) : report::comparison_text(comparison));
  }
  return kExitDone;
}

struct TraceArguments {
  fs::path run;
  fs::path out;        // if empty: trace.json in the run's folder
  bool force = false;  // overwrite an existing file that the user named
};

int run_trace(const TraceArguments& arguments) {
  const run::OpenedRun opened = run::OpenedRun::open(arguments.run);
  const bool is_ours = arguments.out.empty();
  const fs::path out = is_ours ? opened.paths.trace_json() : arguments.out;
  const std::string trace = report::trace_json(opened.state, opened.account);
  write_output(out, trace, is_ours || arguments.force);
  std::cout << "skyline: wrote " << out.string() << ", for https://ui.perfetto.dev or chrome://tracing"
            << std::endl;
  return kExitDone;
}

struct TensorboardArguments {
  fs::path run;
  fs::path out;
};

int run_tensorboard(const TensorboardArguments& arguments) {
  const run::OpenedRun opened = run::OpenedRun::open(arguments.run);
  make_output_folder(arguments.out);
  const fs::path out = fs::canonical(arguments.out);
  if (!fs::is_empty(out))
    throw UserError(arguments.out.string() + ": is not empty: remove it, or name another folder by --out");
  const TemporaryFolder next(out.parent_path(), ".skyline-");  // takes its place once it is complete
  fs::permissions(next.path(), fs::status(out).permissions());
  const std::size_t left_out = report::write_trial_events(opened, next.path());
  fs::rename(next.path(), out);
  std::cout << "skyline: wrote " << arguments.out.string() << ", a folder for TensorBoard's --logdir";
  if (left_out > 0) std::cout << "; " << counted(left_out, "training") << " are left out";
  std::cout << std::endl;
  return kExitDone;
}

}  // namespace

RunCommand report_command(CLI::App& command) {
  const auto arguments = std::make_shared<ReportArguments>();
  add_path(command, "run", arguments->runs, "run folders")->required();
  add_path(command, "-o,--out", arguments->out,
           "page to write (default: report.html, in the run's folder if there is one run)");
  command.add_flag("--force", arguments->force, "overwrite a page of another name or folder");
  command.add_flag("--no-samples", arguments->no_samples, "leave out pictures of samples");
  command
      .add_option("--watch", arguments->watch_s, "write it again every so many seconds until the runs end")
      ->check(whole_number(1, kMostWatch_s));
  return [arguments] { return run_report(*arguments); };
}

RunCommand compare_command(CLI::App& command) {
  const auto arguments = std::make_shared<CompareArguments>();
  add_path(command, "runs", arguments->runs, "run folders")->required();
  CLI::Option* csv = command.add_flag("--csv", arguments->csv, "as CSV");
  CLI::Option* curves = command.add_flag(
      "--curves", arguments->curves,
      "the hypervolume by trial of each run, as CSV (of 3 and more objectives: measured some 300 times)");
  curves->excludes(csv);
  command
      .add_flag(
          "--seen", arguments->seen,
          "where an objective has no reference or no ideal, measure to the worst or best value of these runs")
      ->needs(curves);
  return [arguments] { return run_compare(*arguments); };
}

RunCommand trace_command(CLI::App& command) {
  const auto arguments = std::make_shared<TraceArguments>();
  add_path(command, "run", arguments->run, "run folder")->required();
  add_path(command, "-o,--out", arguments->out, "file to write (default: RUN/trace.json)");
  command.add_flag("--force", arguments->force, "overwrite a file of another name or folder");
  return [arguments] { return run_trace(*arguments); };
}

RunCommand tensorboard_command(CLI::App& command) {
  const auto arguments = std::make_shared<TensorboardArguments>();
  add_path(command, "run", arguments->run, "run folder")->required();
  add_path(command, "-o,--out", arguments->out,
           "folder to write, new or empty, and not below those that TensorBoard shows already")
      ->required();
  return [arguments] { return run_tensorboard(*arguments); };
}

}  // namespace skyline::app
