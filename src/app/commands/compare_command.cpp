#include "app/commands/commands.hpp"
#include "app/config/run_config.hpp"
#include "report/compare/comparison.hpp"
#include "run/opened_run.hpp"

#include <iostream>
#include <list>
#include <utility>
#include <vector>

namespace skyline::app {

int run_compare(const CompareArguments& arguments) {
  std::list<run::OpenedRun> opened;
  std::vector<report::ComparedRun> runs;
  for (const std::filesystem::path& folder : arguments.runs) {
    opened.push_back(run::OpenedRun::open(folder));
    runs.push_back({&opened.back(), identity_of(opened.back().config), folder.string()});
  }
  const report::Comparison comparison = report::compare_runs(std::move(runs));
  if (arguments.curves) {
    std::cout << report::curves_csv(comparison);
  } else {
    std::cout << (arguments.csv ? report::comparison_csv(comparison) : report::comparison_text(comparison));
  }
  return kExitDone;
}

}  // namespace skyline::app
