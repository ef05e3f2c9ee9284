#include "skyline/app/program.hpp"

#include "skyline/store/importer.hpp"

#include "app/commands/commands.hpp"
#include "app/job/job_stop.hpp"
#include "core/config/config_text.hpp"
#include "core/home_path.hpp"
#include "core/text/wording.hpp"
#include "model_export/exported_model.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

namespace skyline::app {
namespace {

struct Arguments {
  PrepArguments prep;
  SearchArguments search;
  DoctorArguments doctor;
  ShowArguments show;
  ValidateArguments validate;
  ExportArguments take_home;
  ReportArguments report;
  CompareArguments compare;
  PredictArguments predict;
  TrainArguments train;
  std::filesystem::path run;
  StatusArguments status;
  bool canonical = false;
  bool markdown = false;
};

/// The command line: each command brings its options and what runs it.
struct CommandLine {
  CLI::App app{"Skyline: Pareto search for neural network architectures over MPI ranks"};
  Arguments arguments;
  int exit_code = kExitDone;

  CLI::App& add(const std::string& name, const std::string& meaning, std::function<int()> run) {
    CLI::App* command = app.add_subcommand(name, meaning);
    command->callback([this, run = std::move(run)] { exit_code = run(); });
    return *command;
  }
};

constexpr int kMostSlots = 1'000'000;  // no bound of ours, which the system has
constexpr int kMostThreads = 1024;
constexpr int kMostSamples = 1'000'000;

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

/// Of a path.
CLI::Validator home_expanded() {
  const auto expand = [](std::string& path) -> std::string {
    path = expand_home(path);
    return {};
  };
  return {expand, "", "home"};
}

CLI::Validator whole_number(int low, int high) {
  const auto check = [low, high](std::string& text) -> std::string {
    const auto number = integer_in(text);
    if (number && *number >= low && *number <= high) return {};
    return "expected a whole number from " + std::to_string(low) + " to " + std::to_string(high) + ", got " +
           text;
  };
  return {check, "", "number"};
}

/// @param arguments  of the command
template <typename AnyArguments>
void add_config(CLI::App& command, AnyArguments& arguments) {
  command.add_option("config", arguments.config, "configuration, YAML")
      ->required()
      ->transform(home_expanded());
  command.add_option("--set", arguments.overrides, "replace a setting, e.g. --set search.iterations=3")
      ->allow_extra_args(false);
}

/// How a run goes on ranks.
void add_job(CLI::App& command, SearchArguments& arguments) {
  static const std::map<std::string, Resume> resumes{{"true", Resume::kIfThere}, {"must", Resume::kMust}};
  command.add_option("--run", arguments.run, "run folder, made if it is not there")
      ->required()
      ->transform(home_expanded());
  command
      .add_flag("--resume", arguments.resume,
                "resume the run in the folder, if there is one (=must: it has to be there); without a "
                "configuration by the run's own")
      ->transform(CLI::CheckedTransformer(resumes, CLI::ignore_case));
  command.add_option_function<std::string>(
      "--wait", [&arguments](const std::string& text) { arguments.wait_s = read_wait(text); },
      "wait for so long, e.g. 3m, for a job that has the run folder, or a lost one's claim on it");
  add_start_timeout(command, arguments.start_timeout_s);
  command.add_flag("--coordinator-only", arguments.coordinator_only, "rank 0 does not train");
  command
      .add_option("--slots", arguments.slots,
                  "trials at a time on a rank (default: its cores; 16 on a GPU, fewer if its memory is full)")
      ->check(whole_number(1, kMostSlots));
  command.add_flag("--quiet", arguments.quiet, "warnings and the result alone on the terminal");
}

void add_search(CommandLine& line) {
  SearchArguments& arguments = line.arguments.search;
  CLI::App& search = line.add("search", "run a search; start it by mpirun or srun for several ranks",
                              [&arguments] { return run_search(arguments); });
  add_config(search, arguments);
  search.get_option("config")->required(false);
  add_job(search, arguments);
}

void add_doctor(CommandLine& line) {
  DoctorArguments& arguments = line.arguments.doctor;
  CLI::App& doctor = line.add(
      "doctor",
      "try what a search needs here: launcher, cores, GPU, run folder; start it as the search will be",
      [&arguments] { return run_doctor(arguments); });
  doctor.add_option("config", arguments.config, "configuration to check as well, YAML")
      ->transform(home_expanded());
  doctor.add_option("--run", arguments.run, "run folder to try, made if it is not there")
      ->transform(home_expanded());
  doctor.add_option("--threads", arguments.threads, "threads of a slot (default: the configuration's)")
      ->check(whole_number(1, kMostThreads));
  add_start_timeout(doctor, arguments.start_timeout_s);
  doctor.add_option("--set", arguments.overrides, "replace a setting")->allow_extra_args(false);
}

/// One command below `prep` for each kind of source, with the options of its importer.
void add_importer(CLI::App& prep, const std::string& kind, CommandLine& line) {
  PrepArguments& arguments = line.arguments.prep;
  const auto importer = store::find_importer(kind);
  CLI::App& command = *prep.add_subcommand(kind, importer->meaning());
  command.callback([&line, &arguments, kind] {
    arguments.kind = kind;
    line.exit_code = run_prep(arguments);
  });
  command.add_option("source", arguments.sources, importer->sources())->transform(home_expanded());
  command.add_option("-o,--out", arguments.out, "data set file to write, e.g. data/mine.h5")
      ->required()
      ->transform(home_expanded());
  command.add_flag("--force", arguments.force, "overwrite the file if it is there");
  command.add_option("--threads", arguments.threads, "threads that read (default: one per core)")
      ->check(whole_number(1, kMostThreads));
  const auto keys = importer->keys();
  if (keys == nullptr) return;
  for (const OptionKey& key : keys->keys()) {
    command.add_option_function<std::string>(
        "--" + key.name,
        [&arguments, name = key.name](const std::string& text) {
          arguments.options.emplace_back(name, text);
        },
        key.meaning);
  }
}

void add_prep(CommandLine& line) {
  line.arguments.prep.threads = std::max(std::thread::hardware_concurrency(), 1U);
  CLI::App& prep =
      *line.app.add_subcommand("prep", "make a data set file from images, arrays or published files");
  prep.require_subcommand(1);
  for (const std::string& kind : store::importer_names()) add_importer(prep, kind, line);
}

/// The models of a run that a command works on.
void add_models(CLI::App& command, ModelChoice& choice) {
  static const std::map<std::string, WeightsOf> weights{{"search", WeightsOf::kSearch},
                                                        {"final", WeightsOf::kFinal}};
  command.add_option("run", choice.run, "run folder, which is only read")
      ->required()
      ->transform(home_expanded());
  command.add_option("--trial", choice.trials, "numbers of trials, e.g. 17 or 17,23")->delimiter(',');
  command.add_flag("--front", choice.front, "all trials on the front");
  command
      .add_option("--weights", choice.weights,
                  "search or final: of which training (default: final if there was one)")
      ->transform(CLI::CheckedTransformer(weights));
}

void add_train(CommandLine& line) {
  TrainArguments& arguments = line.arguments.train;
  CLI::App& train = line.add("train", "train models of a run anew, in full, as a run of their own",
                             [&arguments] { return run_train(arguments); });
  train.add_option("source", arguments.choice.run, "run folder with the models, which is only read")
      ->required()
      ->transform(home_expanded());
  train.add_option("--trial", arguments.choice.trials, "numbers of trials, e.g. 17 or 17,23")->delimiter(',');
  train.add_flag("--front", arguments.choice.front, "all trials on the front");
  train.add_option("--epochs", arguments.epochs, "budget of each")->required()->check(CLI::PositiveNumber);
  train.add_option("--seed", arguments.seed, "of the trainings (default: that of the run)");
  add_job(train, arguments.job);
}

/// "key=value"
std::pair<std::string, std::string> read_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw CLI::ValidationError("--with: expected KEY=VALUE, got " + text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The samples that a command uses a model on.
void add_data(CLI::App& command, DataChoice& data) {
  command.add_option("--data", data.sources, "samples: a prepared data set, or what `skyline prep` takes")
      ->required()
      ->transform(home_expanded());
  command.add_option("--kind", data.kind,
                     "kind of source, as in skyline prep (default: images of a folder, else arrays)");
  command
      .add_option_function<std::vector<std::string>>(
          "--with",
          [&data](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) data.options.push_back(read_assignment(text));
          },
          "option of skyline prep for this kind, e.g. --with layout=nhwc")
      ->allow_extra_args(false);
  command.add_option("--part", data.part, "train, validation or test (default: test if it has samples)")
      ->check(CLI::IsMember({"train", "validation", "test"}));
}

void add_predictions(CommandLine& line) {
  PredictArguments& arguments = line.arguments.predict;
  CLI::App& predict = line.add("predict", "tell what a trained network says of samples, as CSV",
                               [&arguments] { return run_predict(arguments); });
  CLI::App& evaluate = line.add("evaluate", "measure a trained network on samples with targets",
                                [&arguments] { return run_evaluate(arguments); });
  for (CLI::App* command : {&predict, &evaluate}) {
    add_models(*command, arguments.choice);
    add_data(*command, arguments.data);
    command->add_flag("--force", arguments.force, "overwrite the file if it is there");
  }
  predict.add_option("-o,--out", arguments.out, "CSV file to write (default: to standard output)")
      ->transform(home_expanded());
  evaluate.add_option("-o,--out", arguments.out, "JSON file to write as well")->transform(home_expanded());
}

void add_export(CommandLine& line) {
  using model_export::Format;
  static const std::map<std::string, Format> formats{
      {"onnx", Format::kOnnx}, {"pytorch", Format::kPytorch}, {"safetensors", Format::kSafetensors}};
  ExportArguments& arguments = line.arguments.take_home;
  arguments.format = Format::kOnnx;
  CLI::App& command = line.add("export", "write trained networks as ONNX, PyTorch source or safetensors",
                               [&arguments] { return run_export(arguments); });
  add_models(command, arguments.choice);
  command.add_option("--format", arguments.format, "onnx (default), pytorch or safetensors")
      ->transform(CLI::CheckedTransformer(formats));
  command.add_option("-o,--out", arguments.out, "folder to write to (default: RUN/exports)")
      ->transform(home_expanded());
  command.add_flag("--force", arguments.force, "overwrite files in another folder than RUN/exports");
}

/// The commands that look at configurations and change nothing.
void add_config_inspections(CommandLine& line) {
  Arguments& arguments = line.arguments;
  ValidateArguments& validate = arguments.validate;
  CLI::App& check = line.add("validate", "check a configuration and print it with all defaults",
                             [&validate] { return run_validate(validate); });
  add_config(check, validate);
  check.add_flag("--count", validate.count, "count the architectures, however long that takes");
  CLI::Option* time =
      check.add_flag("--time", validate.time, "train a few architectures, and tell how long a search takes");
  check.add_option("--slots", validate.slots, "with so many slots (default: those of this machine)")
      ->needs(time)
      ->check(whole_number(1, kMostSlots));

  ShowArguments& show = arguments.show;
  CLI::App& networks =
      line.add("show", "show networks of a space, layer by layer", [&show] { return run_show(show); });
  add_config(networks, show);
  CLI::Option* samples =
      networks.add_option("--sample", show.samples, "number of random architectures (default: 1)")
          ->check(whole_number(1, kMostSamples));
  networks.add_option("--genotype", show.genotype, "this architecture, e.g. depth=3,kernel=5")
      ->excludes(samples);
  networks.add_flag("--dot", show.dot, "as a graph in the language of Graphviz");

  CLI::App& schema = line.add("schema", "print a JSON schema of configurations, for editors",
                              [&arguments] { return run_schema(arguments.markdown); });
  schema.add_flag("--markdown", arguments.markdown, "the page of all keys instead: docs/configuration.md");
}

/// The commands that look at runs and change nothing.
void add_run_inspections(CommandLine& line) {
  Arguments& arguments = line.arguments;
  CLI::App& status = line.add("status", "show how a run is doing, its front and its account of time",
                              [&arguments] { return run_status(arguments.status); });
  status.add_option("run", arguments.status.run, "run folder")->required()->transform(home_expanded());
  status.add_flag("--watch", arguments.status.watch, "show the progress every 2 s until the run ends");
  status.add_flag("--json", arguments.status.json, "the progress as JSON, a line each time with --watch");
  status.add_flag("--exit-code", arguments.status.exit_code,
                  "end with the exit code of the run's last job, 10 while one runs");

  CompareArguments& compare = arguments.compare;
  CLI::App& comparison =
      line.add("compare", "compare runs by seeds and algorithms: hypervolumes with intervals, and a test",
               [&compare] { return run_compare(compare); });
  comparison.add_option("runs", compare.runs, "run folders")->required()->transform(home_expanded());
  CLI::Option* csv = comparison.add_flag("--csv", compare.csv, "as CSV");
  comparison
      .add_flag(
          "--curves", compare.curves,
          "the hypervolume by trial of each run, as CSV (of 3 and more objectives: measured some 300 times)")
      ->excludes(csv);

  CLI::App& journal = line.add("journal", "print a run's journal after checking every line",
                               [&arguments] { return run_journal(arguments.run, arguments.canonical); });
  journal.add_option("run", arguments.run, "run folder")->required()->transform(home_expanded());
  journal.add_flag("--canonical", arguments.canonical, "without times and hosts: equal for equal runs");
}

void add_report(CommandLine& line) {
  ReportArguments& arguments = line.arguments.report;
  CLI::App& report = line.add("report", "write a page about a run, or several, to open in a browser",
                              [&arguments] { return run_report(arguments); });
  report.add_option("run", arguments.runs, "run folders")->required()->transform(home_expanded());
  report
      .add_option("-o,--out", arguments.out,
                  "page to write (default: report.html, in the run's folder if there is one run)")
      ->transform(home_expanded());
  report.add_flag("--force", arguments.force, "overwrite a page of another name or folder");
  report.add_option("--watch", arguments.watch_s, "write it again every so many seconds until the runs end")
      ->check(CLI::PositiveNumber);
}

/// Says of the first option that the command does not have which one may be meant.
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

/// What is wrong with the command line, in one line.
std::string usage_error_text(const CLI::App& app, const CLI::ParseError& error,
                             const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::size_t depth = 0;  // of the first word that is not a command
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
  return text + " (see skyline --help)";
}

}  // namespace

int run_program(int argc, char** argv) {
  CommandLine line;
  line.app.require_subcommand(1);
  line.app.set_version_flag("--version", std::string(SKYLINE_VERSION));
  for (const auto add : {add_prep, add_config_inspections, add_run_inspections, add_search, add_doctor,
                         add_export, add_train, add_predictions, add_report}) {
    add(line);
  }
  try {
    line.app.parse(argc, argv);
    return line.exit_code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return line.app.exit(error);  // --help, --version
    print_error(usage_error_text(line.app, error, {argv + std::min(argc, 1), argv + argc}));
    return kExitUserError;
  } catch (const std::exception& error) {
    print_error(error);
    return exit_code_of(error);
  }
}

}  // namespace skyline::app
