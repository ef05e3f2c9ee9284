#include "skyline/app/program.hpp"

#include "app/commands/commands.hpp"
#include "app/job/job_stop.hpp"
#include "core/config/config_text.hpp"
#include "core/text/wording.hpp"

#include <exception>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace skyline::app {
namespace {

struct Arguments {
  PrepArguments prep;
  SearchArguments search;
  DoctorArguments doctor;
  std::filesystem::path run;
  bool watch = false;
  bool canonical = false;
  bool markdown = false;
};

double read_wait(const std::string& text) {
  const auto seconds = duration_in(text);
  if (!seconds || *seconds < 0)
    throw CLI::ValidationError("--wait: expected a duration, e.g. 90s or 3m, got " + text);
  return *seconds;
}

/// @return  seconds; nothing: wait for ever
std::optional<double> read_start_timeout(const std::string& text) {
  if (text == "none") return std::nullopt;
  const auto seconds = duration_in(text);
  if (!seconds || *seconds <= 0)
    throw CLI::ValidationError("--start-timeout: expected a duration, e.g. 90s or 10m, or none, got " + text);
  return seconds;
}

void add_start_timeout(CLI::App& command, std::optional<double>& timeout_s) {
  command.add_option_function<std::string>(
      "--start-timeout", [&timeout_s](const std::string& text) { timeout_s = read_start_timeout(text); },
      "end with exit code 76 if the ranks have not found each other by then (default: 10m; none: wait for "
      "ever)");
}

void add_overrides(CLI::App& command, Arguments& arguments) {
  command.add_option("config", arguments.search.config, "configuration, YAML")->required();
  command
      .add_option("--set", arguments.search.overrides, "replace a setting, e.g. --set search.iterations=3")
      ->allow_extra_args(false);
}

void describe(CLI::App& app, Arguments& arguments) {
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(SKYLINE_VERSION));

  auto* prep = app.add_subcommand("prep", "make a data set file from the files that a set is published as");
  prep->add_option("kind", arguments.prep.kind, joined(data_set_kinds(), " | "))->required();
  prep->add_option("--from", arguments.prep.from, "folder of the published files (digits: the CSV file)");
  prep->add_option("--out", arguments.prep.out, "data set file to write, e.g. data/mnist.h5")->required();

  add_overrides(*app.add_subcommand("validate", "check a configuration and print it with all defaults"),
                arguments);

  auto* search = app.add_subcommand("search", "run a search; start it by mpirun or srun for several ranks");
  add_overrides(*search, arguments);
  search->add_option("--run", arguments.search.run, "run folder, made if it is not there")->required();
  search->add_flag("--resume", arguments.search.resume, "go on with the run in the folder");
  search->add_option_function<std::string>(
      "--wait", [&arguments](const std::string& text) { arguments.search.wait_s = read_wait(text); },
      "wait for so long, e.g. 3m, for a job that has the run folder, or a lost one's claim on it");
  add_start_timeout(*search, arguments.search.start_timeout_s);
  search->add_flag("--coordinator-only", arguments.search.coordinator_only, "rank 0 does not train");
  search
      ->add_option(
          "--slots", arguments.search.slots,
          "trials at a time on a rank (default: its cores; 16 on a GPU, which trains those that pay)")
      ->check(CLI::PositiveNumber);
  search->add_flag("--quiet", arguments.search.quiet, "warnings and the result alone on the terminal");

  auto* doctor = app.add_subcommand(
      "doctor",
      "try what a search needs here: launcher, cores, GPU, run folder; start it as the search will be");
  doctor->add_option("config", arguments.doctor.config, "configuration to check as well, YAML");
  doctor->add_option("--run", arguments.doctor.run, "run folder to try, made if it is not there");
  doctor
      ->add_option("--threads", arguments.doctor.threads, "threads of a slot (default: the configuration's)")
      ->check(CLI::PositiveNumber);
  add_start_timeout(*doctor, arguments.doctor.start_timeout_s);
  doctor->add_option("--set", arguments.doctor.overrides, "replace a setting")->allow_extra_args(false);

  auto* schema = app.add_subcommand("schema", "print a JSON schema of configurations, for editors");
  schema->add_flag("--markdown", arguments.markdown, "the page of all keys instead: docs/configuration.md");

  auto* status = app.add_subcommand("status", "show how a run is doing; works while it runs");
  status->add_option("run", arguments.run, "run folder")->required();
  status->add_flag("--watch", arguments.watch, "show again every 2 s until the run ends");

  auto* journal = app.add_subcommand("journal", "print a run's journal after checking every line");
  journal->add_option("run", arguments.run, "run folder")->required();
  journal->add_flag("--canonical", arguments.canonical, "without times and hosts: equal for equal runs");
}

int dispatch(const CLI::App& app, const Arguments& arguments) {
  if (app.got_subcommand("prep")) return run_prep(arguments.prep);
  if (app.got_subcommand("validate"))
    return run_validate(arguments.search.config, arguments.search.overrides);
  if (app.got_subcommand("search")) return run_search(arguments.search);
  if (app.got_subcommand("doctor")) return run_doctor(arguments.doctor);
  if (app.got_subcommand("schema")) return run_schema(arguments.markdown);
  if (app.got_subcommand("status")) return run_status(arguments.run, arguments.watch);
  return run_journal(arguments.run, arguments.canonical);
}

}  // namespace

int run_program(int argc, char** argv) {
  CLI::App app{"Skyline: Pareto search for neural network architectures over MPI ranks"};
  try {
    Arguments arguments;
    describe(app, arguments);
    app.parse(argc, argv);
    return dispatch(app, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitUserError;
  } catch (const std::exception& error) {
    print_error(error_text(error));
    return exit_code_of(error);
  }
}

}  // namespace skyline::app
