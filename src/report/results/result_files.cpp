#include "report/results/result_files.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "report/files/search_state_csv.hpp"
#include "report/files/trials_json.hpp"
#include "store/journal/run_tables.hpp"
#include "store/publish/publish.hpp"

#include <string>

#include <fmt/format.h>

namespace skyline::report {
void write_tables(const ReportedRun& run) {
  const run::OpenedRun& opened = run.opened;
  std::vector<bool> on_front;
  for (const run::SharedTrial& committed : opened.state.trials()) {
    on_front.push_back(opened.state.on_its_front(committed->trial));
  }
  store::write_run_tables(opened.paths.tables(), opened.state.trials(), on_front, opened.header.metrics,
                          opened.space, run.config, opened.account.slots, run.courses);
}

void write_models(const ReportedRun& run) {
  write_models_json(run.opened.paths, inputs_of(run));
}

void write_search_state(const ReportedRun& run) {
  write_search_state_csv(run.opened.paths, inputs_of(run));
}

void write_pareto(const ReportedRun& run) {
  write_pareto_json(run.opened.paths, inputs_of(run));
}

void write_page(const ReportedRun& run) {
  const std::string page = report_page({&run, 1});
  try {
    store::publish_file(run.opened.paths.report_html(), page, store::Effort::kOnce);
  } catch (const Problem& problem) {
    log::warning(fmt::format("{}; skyline report {} makes the page again", problem.what(),
                             run.opened.paths.root.string()));
  }
}

std::vector<std::filesystem::path> result_paths(const store::RunPaths& paths) {
  std::vector<std::filesystem::path> found;
  for (const ResultFile& file : kResultFiles) found.push_back((paths.*file.path)());
  return found;
}

}  // namespace skyline::report
