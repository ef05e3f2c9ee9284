#include "skyline/app/program.hpp"

#include "skyline/core/error.hpp"

#include "app/commands/commands.hpp"
#include "app/job/program_build.hpp"
#include "app/job/stop_request.hpp"
#include "core/system/standard_output.hpp"
#include "core/text/wording.hpp"
#include "machine/node.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

namespace skyline::app {
namespace {

/// A command of the program, in the order of --help.
struct CommandEntry {
  const char* name;
  const char* meaning;
  const char* example;  // a whole command line
  RunCommand (*define)(CLI::App& command);
  bool is_job = false;  // a signal asks it to stop
};

constexpr auto kCommands = std::to_array<CommandEntry>(
    {{"prep", "make a data set file from images, arrays or published files",
      "skyline prep images photos --size 32 -o photos.h5", prep_command},
     {"init", "write a configuration for your data: a space, its training and a budget",
      "skyline init photos -o photos.yaml --with size=32 --time 20m", init_command},
     {"import", "make a configuration of what NNI or Archai has",
      "skyline import nni config.yml -o mine.yaml", import_command},
     {"validate", "check a configuration and print it with all defaults", "skyline validate photos.yaml",
      validate_command},
     {"show", "show networks of a space, layer by layer", "skyline show photos.yaml --sample 3",
      show_command},
     {"simulate", "tell how long a search would take on so many slots, and how busy they would be",
      "skyline simulate photos.yaml --slots 64,256", simulate_command},
     {"sampler", "propose trials to another program, in lines of JSON on standard input and output",
      "skyline sampler photos.yaml", sampler_command},
     {"schema", "print a JSON schema of configurations, for editors", "skyline schema > skyline.schema.json",
      schema_command},
     {"status", "show how a run is doing, its front and its account of time",
      "skyline status runs/photos --watch", status_command},
     {"compare", "compare runs by seeds and algorithms: hypervolumes with intervals, and a test",
      "skyline compare runs/seed1 runs/seed2 runs/seed3", compare_command},
     {"journal", "print a run's journal after checking every line", "skyline journal runs/photos --canonical",
      journal_command},
     {"search", "run a search; start it by mpirun or srun for several ranks",
      "mpirun -np 2 skyline search photos.yaml --run runs/photos", search_command, true},
     {"doctor",
      "try what a search needs here: launcher, cores, GPU, run folder; start it as the search will be",
      "mpirun -np 2 skyline doctor photos.yaml --run runs/next", doctor_command},
     {"export", "write trained networks as files: ONNX, PyTorch source, int8 for microcontrollers",
      "skyline export runs/photos --front", export_command},
     {"train", "train models of a run from scratch, in full, as a run of their own",
      "mpirun -np 2 skyline train runs/photos --front --epochs 30 --run runs/longer", train_command, true},
     {"predict", "tell what a trained network says of samples, as CSV",
      "skyline predict runs/photos --trial 7 --data new -o said.csv", predict_command},
     {"evaluate", "measure a trained network on samples with targets",
      "skyline evaluate runs/photos --trial 7 --data other.h5", evaluate_command},
     {"profile", "measure what each layer of a network takes in a training step",
      "skyline profile runs/photos --trial 7", profile_command},
     {"report", "write a page about a run, or several, to open in a browser",
      "skyline report runs/seed1 runs/seed2 -o seeds.html", report_command},
     {"trace", "write what the slots of a run did when, for a viewer of traces", "skyline trace runs/photos",
      trace_command},
     {"tensorboard", "write the learning curves and parameters of a run's trials for TensorBoard",
      "skyline tensorboard runs/photos --out logs", tensorboard_command}});

/// Suggests the nearest option for the first one that the command does not have.
std::optional<std::string> unknown_option(const CLI::App& command, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || name.size() == 2 || std::ranges::find(names, name) != names.end())
      continue;
    return command.get_name() + ": unknown option `" + name + "`, " + suggestion(name, names);
  }
  return std::nullopt;
}

/// Says in one line what is wrong with the command line.
std::string usage_error_text(const CLI::App& app, const CLI::ParseError& error,
                             const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::size_t depth = 0;  // depth of the first word that is not a command
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    ++depth;
  }
  std::vector<std::string> names;
  for (const CLI::App* each : command->get_subcommands({})) names.push_back(each->get_name());
  if (!names.empty()) {
    const std::string word = depth < words.size() ? words[depth] : "";
    const std::string noun = depth == 0 ? "command" : "kind of data";
    const std::string place = depth == 0 ? "" : words.front() + ": ";
    if (word.starts_with("-"))
      return place + "unknown option `" + word + "`, " + suggestion(word, {"--help", "--version"});
    return place + (word.empty() ? "a " + noun + " is needed, " : "unknown " + noun + " `" + word + "`, ") +
           suggestion(word, names);
  }
  if (const auto unknown = unknown_option(*command, words)) return *unknown;
  std::string text = error.what();
  std::ranges::replace(text, '\n', ' ');
  std::string path;  // e.g. "prep digits"
  for (const CLI::App* each = command; each->get_parent() != nullptr; each = each->get_parent())
    path = each->get_name() + (path.empty() ? "" : " " + path);
  return path + ": " + text + " (see skyline " + path + " --help)";
}

/// Ends the process where nobody catches an error. Missing memory and refused threads are no bugs.
[[noreturn]] void end_uncaught() {
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::bad_alloc&) {  // there may be no memory for a message
    (void)write_whole(STDERR_FILENO,
                      "skyline: the system has no more memory for this process: see ulimit -v, h_vmem\n");
    _exit(kExitFault);
  } catch (const std::exception& error) {
    print_error(error);
    if (exit_code_of(error) == kExitFault) _exit(kExitFault);
  } catch (...) {
    print_error("an unknown error");
  }
  std::abort();
}

/// The first code of the process: the loader calls it before the constructors of all libraries. They take
/// memory, which may be missing, and time, in which a request to stop is noted: LibTorch's, in a program that
/// is linked with it, take seconds.
void first_code(int /*argc*/, char** /*argv*/, char** /*variables*/) {
  note_early_signals();
  std::set_terminate(end_uncaught);
}

[[gnu::section(".preinit_array"), gnu::used]] auto* const kFirstCode = &first_code;

std::string version_text() {
  return "skyline " + joined(program_parts(), "\n") + "\n" + machine::processor_model("/");
}

/// Parses the command line and runs its command. Returns the exit code.
int run_command_line(int argc, char** argv) {
  CLI::App app{"Skyline: Pareto search for neural network architectures over MPI ranks"};
  int exit_code = kExitDone;
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text);
  for (const CommandEntry& entry : kCommands) {
    CLI::App& command = *app.add_subcommand(entry.name, entry.meaning);
    command.footer(std::string("Example: ") + entry.example);
    command.callback([&exit_code, run = entry.define(command), is_job = entry.is_job] {
      if (!is_job) release_early_signals();
      exit_code = run();
    });
  }
  try {
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    print_error(usage_error_text(app, error, {argv + std::min(argc, 1), argv + argc}));
    return kExitUserError;
  } catch (const std::exception& error) {
    print_error(error);
    return exit_code_of(error);
  }
}

}  // namespace

int run_program(int argc, char** argv) {
  outlive_standard_streams();
  StandardOutput output;
  const int exit_code = run_command_line(argc, argv);
  try {
    const bool is_read = output.finish();
    return is_read || exit_code != kExitDone ? exit_code : exit_code_of_signal(SIGPIPE);
  } catch (const FaultError& error) {
    print_error(error);
    return exit_code == kExitDone ? kExitFault : exit_code;
  }
}

}  // namespace skyline::app
