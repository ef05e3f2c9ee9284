#pragma once

#include "report/html/html_report.hpp"
#include "store/run_folder/run_folder.hpp"

#include <array>
#include <filesystem>
#include <vector>

namespace skyline::report {

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
