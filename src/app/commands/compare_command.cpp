#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/config/run_identity.hpp"
#include "report/compare/comparison.hpp"
#include "run/opened_run.hpp"

#include <iostream>
#include <list>
#include <memory>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

struct CompareArguments {
  std::vector<std::filesystem::path> runs;
  bool csv = false;     // print statistics as CSV
  bool curves = false;  // print hypervolumes by trial as CSV
};

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

}  // namespace

RunCommand compare_command(CLI::App& command) {
  const auto arguments = std::make_shared<CompareArguments>();
  add_path(command, "runs", arguments->runs, "run folders")->required();
  CLI::Option* csv = command.add_flag("--csv", arguments->csv, "as CSV");
  command
      .add_flag(
          "--curves", arguments->curves,
          "the hypervolume by trial of each run, as CSV (of 3 and more objectives: measured some 300 times)")
      ->excludes(csv);
  return [arguments] { return run_compare(*arguments); };
}

}  // namespace skyline::app
