#include "skyline/core/error.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/config/evaluator_section.hpp"
#include "app/job/run_results.hpp"
#include "core/system/standard_output.hpp"
#include "core/text/foreign_text.hpp"
#include "report/files/answers.hpp"
#include "report/files/trial_results.hpp"
#include "report/files/trials_json.hpp"
#include "report/text/front_table.hpp"
#include "report/text/run_account.hpp"
#include "report/text/status.hpp"
#include "run/opened_run.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include <sys/ioctl.h>
#include <unistd.h>

namespace skyline::app {
namespace {

constexpr int kExitRunning = 10;  // printed by `skyline status --exit-code` while the run goes on
constexpr std::chrono::seconds kWatchEvery{2};
constexpr std::size_t kMostRows = 20;  // rows of the front that are shown without --all

struct StatusArguments {
  std::filesystem::path run;
  bool watch = false;
  bool json = false;
  bool all = false;        // show the whole front
  bool exit_code = false;  // return the run's own exit code
};

/// The front so far, as a table of some of its members or as JSON with all of them.
class FrontSoFar {
 public:
  FrontSoFar(const std::filesystem::path& run, bool json) : paths_{run}, json_(json) {}

  /// Reads the journal if it has grown, in at most a tenth of the time.
  const std::string& text() {
    using Steady = std::chrono::steady_clock;
    const Steady::time_point now = Steady::now();
    std::error_code ignored;  // the reader of the journal reports the problem
    const std::uintmax_t bytes = std::filesystem::file_size(paths_.journal(), ignored);
    if (bytes == bytes_ || now < next_) return text_;
    const run::OpenedRun opened = run::OpenedRun::open(paths_.root);
    const report::ReportInputs inputs{opened.space, opened.header.metrics, opened.state,
                                      run::baselines_of(opened.config), report::source_trials(opened.config)};
    if (json_) text_ = report::front_json(paths_, inputs);
    report::TableBounds bounds = output_bounds(paths_);
    bounds.rows = kMostMembers;
    if (!json_ && opened.state.front().size() > 0) text_ = report::front_table(inputs, bounds);
    bytes_ = bytes;
    next_ = now + 10 * (Steady::now() - now);
    return text_;
  }

 private:
  static constexpr std::size_t kMostMembers = 8;

  const store::RunPaths paths_;
  const bool json_;
  std::string text_;
  std::optional<std::uintmax_t> bytes_;  // size of the journal when it was read; nullopt before that
  std::chrono::steady_clock::time_point next_;
};

/// Returns the first lines of a text, as many as the terminal shows.
std::string cut_to_rows(const std::string& text) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return text;
  std::size_t end = 0;
  for (int rows = 1; rows < size.ws_row && end < text.size(); ++rows) end = text.find('\n', end) + 1;
  return text.substr(0, end);
}

/// Shows the status repeatedly: in place on a terminal, otherwise when it has changed.
class StatusScreen {
 public:
  explicit StatusScreen(const StatusArguments& arguments)
      : paths_{arguments.run},
        json_(arguments.json),
        in_place_(arguments.watch && !json_ && ::isatty(STDOUT_FILENO) == 1),
        front_(arguments.run, json_) {}

  void show() {
    const std::string text = next_text();
    if (text == shown_) return;
    if (in_place_ && !shown_.empty()) {
      std::cout << "\x1b[" << std::count(shown_.begin(), shown_.end(), '\n') << "A\x1b[J";
    }
    // wrapping is turned off, since a wrapped line would count as two
    std::cout << (in_place_ ? "\x1b[?7l" + text + "\x1b[?7h" : text) << std::flush;
    shown_ = text;
  }

 private:
  /// Returns the whole status. Without a terminal it is a single line after the first time.
  std::string next_text() {
    if (!store::exists(paths_.journal())) return report::status_text(paths_);  // the text reports it
    if (json_) return report::status_json(paths_, front_.text());
    if (in_place_) return cut_to_rows(whole() + "\n" + front_.text());
    return shown_.empty() ? whole() : report::status_line(paths_);
  }

  /// Lines that are cut would hide what a pipe or a file is searched for.
  std::string whole() const {
    return ::isatty(STDOUT_FILENO) == 1 ? report::status_text(paths_, output_columns())
                                        : report::status_text(paths_);
  }

  const store::RunPaths paths_;
  const bool json_;
  const bool in_place_;
  FrontSoFar front_;
  std::string shown_;
};

bool is_running(const store::RunPaths& paths) {
  const auto owner = store::read_owner(paths);
  return owner && owner->active;
}

/// Returns the exit code of the run's last job.
int exit_code_of_run(const store::RunPaths& paths) {
  if (is_running(paths)) return kExitRunning;
  return report::last_exit_code(paths).value_or(kExitFault);  // the job ended without writing one
}

/// Returns whether a run is about to begin, or may yet begin, in a folder that has no journal.
bool may_begin(const store::RunPaths& paths) {
  if (!std::filesystem::is_directory(paths.root)) return false;
  if (is_running(paths)) return true;
  try {
    store::check_fresh_folder(paths, {}, {});
  } catch (const UserError&) {
    return false;
  }
  return true;
}

/// Waits for the first job of a run, which a batch system may start long after it was submitted.
void wait_for_first_job(const store::RunPaths& paths) {
  bool is_told = false;
  while (std::cerr && !store::exists(paths.journal()) && may_begin(paths)) {
    if (!is_told)
      std::cerr << "skyline: " << printable(paths.root.string()) << ": waiting for its first job\n";
    is_told = true;
    std::this_thread::sleep_for(kWatchEvery);
  }
}

int run_status(const StatusArguments& arguments) {
  const store::RunPaths paths{arguments.run};
  if (arguments.watch) wait_for_first_job(paths);
  StatusScreen screen(arguments);
  screen.show();
  while (arguments.watch && std::cout && is_running(paths)) {  // nobody watches where output fails
    std::this_thread::sleep_for(kWatchEvery);
    screen.show();
  }
  const int exit_code = arguments.exit_code ? exit_code_of_run(paths) : kExitDone;
  if (arguments.json) return exit_code;
  const run::OpenedRun opened = run::OpenedRun::open(arguments.run);
  if (opened.state.trials().empty()) return exit_code;
  const report::ReportInputs inputs{opened.space,
                                    opened.header.metrics,
                                    opened.state,
                                    run::baselines_of(opened.config),
                                    report::source_trials(opened.config),
                                    report::read_latencies(paths),
                                    report::replicates_in(report::read_answers(paths, opened.state)),
                                    !is_running(paths) && may_depend_on_seeds(opened.config)};
  report::TableBounds bounds = output_bounds(paths);
  if (!arguments.all) {
    bounds.rows = kMostRows;
    bounds.rows_with = "--all shows them";
  }
  const std::string processors = report::processors_text(opened.account);
  std::cout << "\n"
            << results_text(inputs, opened.account, bounds)
            << printable("\nSkyline " + report::programs_text(opened) +
                             (processors.empty() ? "" : "; " + processors) +
                             "\nrepeated by: " + report::repeat_line(opened) + "\n",
                         "\n");
  return exit_code;
}

}  // namespace

RunCommand status_command(CLI::App& command) {
  const auto arguments = std::make_shared<StatusArguments>();
  add_path(command, "run", arguments->run, "run folder")->required();
  command.add_flag("--watch", arguments->watch,
                   "show progress, front and slots every 2 s until the run ends");
  command.add_flag("--all", arguments->all, "show the whole front instead of its best 20");
  command.add_flag("--json", arguments->json, "the progress as JSON, a line each time with --watch");
  command.add_flag("--exit-code", arguments->exit_code,
                   "end with the exit code of the run's last job, 10 while one runs");
  return [arguments] { return run_status(*arguments); };
}

}  // namespace skyline::app
