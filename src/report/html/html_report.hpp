#pragma once

#include "report/compare/comparison.hpp"
#include "report/files/trial_results.hpp"
#include "run/opened_run.hpp"
#include "store/journal/learning_curves.hpp"
#include "store/run_folder/run_folder.hpp"

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace skyline::report {

/// A run with everything that its report shows.
struct ReportedRun {
  std::string name;   // name of its folder; different for each of several runs
  std::string state;  // running, stopping, stopped, finished, failed; "not running" after a kill
  run::OpenedRun opened;
  store::LearningCurves courses = {};
  std::string config = {};                 // YAML text
  std::vector<std::string> warnings = {};  // lines of the log, the latest last
  /// What the full trainings of the final front answer to the test set, as JSON (docs/internals/files.md).
  std::map<trial::TrialNumber, std::string> answers = {};
  std::vector<FrontLatency> latencies = {};
  bool may_be_lucky = false;      // whether the best ones may owe something to a seed
  bool shows_samples = true;      // whether the page has pictures of samples
  std::size_t more_warnings = 0;  // number of earlier warnings that are left out
};

/// Adds the parts that come from the run's folder. @throws UserError if a file is damaged
ReportedRun reported_run(run::OpenedRun opened, const std::string& state);
/// Reads a run's folder and changes nothing; a job may be using it.
/// @throws UserError if there is no run in the folder, or one of its files is damaged
ReportedRun read_reported_run(const std::filesystem::path& folder);

/// Returns the run as the source of reports; `run` must outlive it.
ReportInputs inputs_of(const ReportedRun& run);

struct ReportOptions {
  std::optional<int> reload_s = {};           // the page reloads itself after so many seconds
  std::optional<Comparison> comparison = {};  // present for several runs
  std::string no_comparison = {};  // the reason why several runs cannot be compared; empty for one run
};

/// Returns an HTML page about the runs that needs no other file and no network.
std::string report_page(std::span<const ReportedRun> runs, const ReportOptions& options = {});

void write_tables(const ReportedRun& run);
void write_models(const ReportedRun& run);
void write_search_state(const ReportedRun& run);
void write_pareto(const ReportedRun& run);
/// Warns if the page cannot be written, because `skyline report` can make it again.
void write_page(const ReportedRun& run);

/// A file that is made from a run's journal, and published whole every few minutes and when a job ends.
struct ResultFile {
  std::filesystem::path (store::RunPaths::*path)() const;
  void (*write)(const ReportedRun& run);  // @throws UserError, FaultError
};

/// All result files, in the order of writing.
inline constexpr std::array kResultFiles{ResultFile{&store::RunPaths::tables, &write_tables},
                                         ResultFile{&store::RunPaths::models_json, &write_models},
                                         ResultFile{&store::RunPaths::search_state_csv, &write_search_state},
                                         ResultFile{&store::RunPaths::pareto_json, &write_pareto},
                                         ResultFile{&store::RunPaths::report_html, &write_page}};

/// Returns their paths in a run folder.
std::vector<std::filesystem::path> result_paths(const store::RunPaths& paths);

}  // namespace skyline::report
