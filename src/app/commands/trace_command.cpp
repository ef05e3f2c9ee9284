// The command that writes how the slots of a run spent their time.
#include "skyline/core/error.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "report/files/trace_json.hpp"
#include "run/opened_run.hpp"
#include "store/publish/publish.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

namespace skyline::app {
namespace {

struct TraceArguments {
  std::filesystem::path run;
  std::filesystem::path out;  // if empty: trace.json in the run's folder
  bool force = false;         // overwrite an existing file that the user named
};

int run_trace(const TraceArguments& arguments) {
  const run::OpenedRun opened = run::OpenedRun::open(arguments.run);
  const bool is_ours = arguments.out.empty();
  const std::filesystem::path out = is_ours ? opened.paths.trace_json() : arguments.out;
  const std::string trace = report::trace_json(opened.state, opened.account);
  if (is_ours || arguments.force) {
    store::publish_file(out, trace);
  } else if (!store::publish_new_file(out, trace)) {
    throw UserError(out.string() + ": exists already (--force overwrites it)");
  }
  std::cout << "skyline: wrote " << out.string() << ", for https://ui.perfetto.dev or chrome://tracing"
            << std::endl;
  return kExitDone;
}

}  // namespace

RunCommand trace_command(CLI::App& command) {
  const auto arguments = std::make_shared<TraceArguments>();
  add_path(command, "run", arguments->run, "run folder")->required();
  add_path(command, "-o,--out", arguments->out, "file to write (default: RUN/trace.json)");
  command.add_flag("--force", arguments->force, "overwrite a file of another name or folder");
  return [arguments] { return run_trace(*arguments); };
}

}  // namespace skyline::app
