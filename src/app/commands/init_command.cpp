// The command that writes a first configuration for somebody's data.
#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/store/dataset.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/output_file.hpp"
#include "app/commands/prep_command.hpp"
#include "app/commands/time_estimate.hpp"
#include "app/config/boards.hpp"
#include "app/config/presets.hpp"
#include "app/config/run_config.hpp"
#include "core/config/byte_size.hpp"
#include "core/config/config_text.hpp"
#include "core/system/standard_output.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "report/text/text_table.hpp"
#include "run/opened_run.hpp"
#include "train/loading/load_training.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <system_error>
#include <thread>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

// A trial makes some steps more than the fewest that tell networks apart.
constexpr double kUsualSteps = 600;
constexpr double kMostEpochs = 30;       // upper bound for a trial, where the time would allow more
constexpr double kLonger = 4;            // upper bound for a trial, in multiples of the usual number
constexpr double kFinalEpochs = 3;       // epochs of the full training, for one of a trial
constexpr double kShareOfSearch = 0.7;   // share of the time; the rest is for full trainings
constexpr double kShareWithRefit = 0.5;  // share of the search if full trainings are made twice
constexpr double kMostTrials = 500;
constexpr double kWantedTrials = 200;  // trials become longer only beyond these
constexpr double kEnoughTrials = 60;   // trials become shorter only below these
constexpr double kFewestTrials = 20;
constexpr double kMostWaited = 0.99;  // share of the time; larger ones would look alike

struct InitArguments {
  fs::path source;
  fs::path out;
  std::string preset;
  bool lists = false;
  bool force = false;
  std::vector<std::pair<std::string, std::string>> options;  // options of `skyline prep`
  std::vector<std::pair<std::string, double>> bounds;        // costs; the first one is minimized
  std::optional<DeviceRoom> device;                          // memory for networks in int8
  double time_s = 3600;
  std::size_t slots = std::max(std::thread::hardware_concurrency(), 1U);
};

fs::path data_file(const InitArguments& arguments) {
  return fs::path(arguments.out).replace_extension(".h5");
}

/// Returns the data set's file, which is made if the source is none.
fs::path prepared(const InitArguments& arguments) {
  if (fs::is_regular_file(arguments.source) && store::Dataset::recognizes(arguments.source)) {
    if (!arguments.options.empty())
      throw UserError("--with: " + arguments.source.string() + " is a prepared data set");
    return arguments.source;
  }
  PrepArguments preparation{.source = {.title = "preparing " + arguments.source.string(),
                                       .kind = "auto",
                                       .words = {},
                                       .by_with = true},
                            .out = data_file(arguments),
                            .force = arguments.force};
  preparation.source.add(arguments.options, {arguments.source});
  prepare(preparation);
  return preparation.out;
}

/// Rounds a number of epochs down to one digit, or to a whole number, so that people can read it.
double readable(double epochs) {
  if (epochs >= 1) return std::floor(epochs);
  const double parts = std::pow(10, -std::floor(std::log10(epochs)));  // parts of an epoch
  return std::floor(epochs * parts) / parts;
}

/// Returns the part of the time that the trials of the search take.
double share_of_search(const FirstSearch& search) {
  return search.refit ? kShareWithRefit : kShareOfSearch;
}

/// Chooses the length of trials and their number for the time that there is. Returns the expected time of
/// the search in seconds, on all slots.
double plan(FirstSearch& search, const TrialTime& time, double usual_epochs, double available_s) {
  const auto trial_s = [&](double epochs) { return epochs * time.epoch_s + time.rest_s; };
  const auto trials_of = [&](double epochs) { return available_s / trial_s(epochs); };
  const auto epochs_for = [&](double trials) { return (available_s / trials - time.rest_s) / time.epoch_s; };
  double epochs = usual_epochs;
  if (trials_of(epochs) > kWantedTrials) {
    const double most = std::max(usual_epochs, std::min(kLonger * usual_epochs, kMostEpochs));
    epochs = std::clamp(epochs_for(kWantedTrials), usual_epochs, most);
  } else if (trials_of(epochs) < kEnoughTrials) {
    epochs = std::clamp(epochs_for(kEnoughTrials), usual_epochs / kLonger, usual_epochs);
  }
  search.epochs = readable(epochs);
  constexpr double kDigits = 1e6;  // 3 * 0.3 is not 0.9
  search.final_epochs = std::round(kFinalEpochs * search.epochs * kDigits) / kDigits;
  const double trials = std::clamp(trials_of(search.epochs), kFewestTrials, kMostTrials);
  search.trials = static_cast<std::size_t>(trials) / 10 * 10;
  return static_cast<double>(search.trials) * trial_s(search.epochs) / share_of_search(search);
}

/// Returns the validation error of a model that always says the same, in three digits; nullopt if it is not
/// known.
std::optional<double> constant_error(const RunConfig& config) {
  const auto baselines = run::baselines_of(config.resolved);
  const trial::Baseline* const found = trial::find_baseline(baselines, "validation_mse");
  if (found == nullptr || !found->constant || *found->constant <= 0) return std::nullopt;
  return parse_number(report::significant_text(*found->constant, 3));
}

/// Returns a time that people write, at least as long: in tens of seconds from
/// ten on, and in minutes from two on.
std::string readable_time(double seconds) {
  constexpr double kMinute = 60;
  if (seconds < 10) return std::to_string(std::lround(std::ceil(seconds))) + "s";
  if (seconds < 2 * kMinute) return std::to_string(10 * std::lround(std::ceil(seconds / 10))) + "s";
  return std::to_string(std::lround(std::ceil(seconds / kMinute))) + "m";
}

/// Says what is to be known about a plan: that it takes longer than was asked for, and what it would take
/// where the processors stay as busy as they were.
void print_doubts(const InitArguments& arguments, double search_s, double waited_share) {
  constexpr double kSpare = 1.1;  // another measurement is not the same
  if (search_s > kSpare * arguments.time_s) {
    std::cout << "check: --time " << readable_time(arguments.time_s) << " is too short for the "
              << kFewestTrials << " trials that a search needs: --time " << readable_time(kSpare * search_s)
              << " would do, or smaller networks (--flops, --parameters), or more --slots\n";
  }
  const std::string busy = busy_text(waited_share);
  if (busy.empty()) return;
  std::cout << "check: " << busy << ": where it stays as busy, the search takes about "
            << report::duration_text(search_s / (1 - std::min(waited_share, kMostWaited))) << "\n";
}

int print_presets() {
  report::TextTable table;
  table.add_column("preset", report::TextTable::Align::kLeft);
  table.add_column("for", report::TextTable::Align::kText);
  for (const Preset& preset : presets())
    table.add_row({std::string(preset.name), std::string(preset.meaning)});
  report::TextTable devices;
  devices.add_column("board", report::TextTable::Align::kLeft);
  devices.add_column("RAM");
  devices.add_column("flash");
  devices.add_column("with", report::TextTable::Align::kLeft);
  for (const Board& board : boards()) {
    devices.add_row({std::string(board.name), board_size_text(board.ram_bytes),
                     board_size_text(board.flash_bytes), std::string(board.meaning)});
  }
  table.fit(output_columns());
  std::cout << table.text() << "\n" << devices.text();
  return kExitDone;
}

/// Returns the data set file as the configuration names it: as seen from its folder, so that both can move.
std::string named_by(const fs::path& configuration, const fs::path& file) {
  if (file.parent_path() == configuration.parent_path()) return file.filename().string();
  if (file.is_absolute() || !configuration.has_parent_path()) return file.string();
  return fs::proximate(file, configuration.parent_path()).string();
}

/// Finds samples that cannot be split before a configuration names them, which the person has not seen.
void check_split(const InitArguments& arguments, const store::Dataset& dataset) {
  try {
    store::split_dataset(dataset, held_out_share(dataset), std::nullopt, 0);
  } catch (const UserError& error) {
    throw UserError(arguments.source.string() + ": " + error.what() +
                    " (a share of the training samples is held out, to score trials)");
  }
}

/// Chooses what the search minimizes besides the error, and the limits of costs.
void choose_costs(const InitArguments& arguments, const store::Dataset& dataset, FirstSearch& search) {
  search.bounds = arguments.bounds;
  if (arguments.device) {
    const auto& [ram, flash, from] = *arguments.device;
    search.for_device = true;
    search.minimized = {"macs"};
    search.bounds.insert(search.bounds.begin(), {{"int8_peak_activation_bytes", static_cast<double>(ram)},
                                                 {"int8_weight_bytes", static_cast<double>(flash)}});
    return;
  }
  const bool is_table = dataset.shape().height == 1 && dataset.shape().width == 1;
  search.minimized = {!search.bounds.empty() ? search.bounds.front().first
                      : is_table             ? "parameters"
                                             : "flops"};
}

void write_configuration(const InitArguments& arguments, const fs::path& file) {
  const auto dataset = store::Dataset::open(file, false);
  check_split(arguments, *dataset);
  const Preset& preset = find_preset(arguments.preset, *dataset);

  FirstSearch search;
  search.data = named_by(arguments.out, file);
  choose_costs(arguments, *dataset, search);
  const auto samples = static_cast<double>(dataset->train().count);
  search.refit = dataset->train().count < kFewSamples;
  search.batch = search.refit ? 32 : 128;
  const double usual_epochs =
      readable(std::min(kMostEpochs, kUsualSteps * static_cast<double>(search.batch) / samples));
  search.epochs = usual_epochs;
  if (arguments.slots > 8) search.window = arguments.slots;

  const auto read = [&] {
    return RunConfig::parse(
        load_yaml_text(configuration_text(preset, *dataset, search), arguments.out.string()), false);
  };
  const RunConfig first = read();
  search.constant_error = constant_error(first);
  if (arguments.device && !arguments.device->from.empty()) std::cout << arguments.device->from << "\n";
  std::cout << "preset " << preset.name << ": " << preset.meaning << "\nmeasuring how long trials take ...\n"
            << std::flush;
  const double slots = static_cast<double>(arguments.slots);
  const TrialTime time = mean_trial_time(first);
  const double available_s = share_of_search(search) * arguments.time_s * slots;
  const double search_s = plan(search, time, usual_epochs, available_s) / slots;
  read();
  write_output(arguments.out, configuration_text(preset, *dataset, search), arguments.force,
               {arguments.source});
  std::cout << arguments.out.string() << ": " << search.trials << " trials of "
            << objective::number_text(search.epochs) << (search.epochs == 1 ? " epoch" : " epochs")
            << ", about " << report::duration_text(search_s) << " on " << counted(arguments.slots, "slot")
            << " with the full training of the front\n";
  print_doubts(arguments, search_s, time.waited_share);
  std::cout << "next: mpirun -np " << arguments.slots << " skyline search "
            << in_shell(arguments.out.string()) << " --run "
            << in_shell("runs/" + arguments.out.stem().string()) << "\n";
}

int run_init(const InitArguments& arguments) {
  if (arguments.lists) return print_presets();
  if (arguments.source.empty())
    throw UserError("init: missing SOURCE, a data set or what `skyline prep` takes");
  if (arguments.out.empty()) throw UserError("init: missing -o FILE.yaml");
  train::load_training();  // measures how long trials take
  check_output(arguments.out, arguments.force, {arguments.source});
  const bool replaces = fs::exists(data_file(arguments));
  const fs::path file = prepared(arguments);
  try {
    write_configuration(arguments, file);
  } catch (const Problem&) {
    std::error_code ignored;  // a file that stays is named by the next attempt
    if (file != arguments.source && !replaces) fs::remove(file, ignored);
    throw;
  }
  return kExitDone;
}

double read_amount(const std::string& option, const std::string& text, bool of_bytes) {
  const auto amount = amount_in(text, of_bytes);
  if (amount && std::isfinite(*amount) && *amount > 0) return *amount;
  throw CLI::ValidationError("--" + option + ": expected a number above 0, e.g. 300k or 1.5M, got " + text);
}

}  // namespace

RunCommand init_command(CLI::App& command) {
  const auto arguments = std::make_shared<InitArguments>();
  add_path(
      command, "source", arguments->source,
      "a prepared data set, a folder of images, sounds or recordings, or a file that `skyline prep` takes");
  add_path(command, "-o,--out", arguments->out,
           "configuration to write, e.g. mine.yaml; a source is prepared to a data set beside it, mine.h5");
  command.add_option("--preset", arguments->preset,
                     "space to take (default: by the kind and size of samples)");
  command.add_flag("--list", arguments->lists, "list the presets and the boards");
  const auto bound = [&](const std::string& option, const std::string& cost, const std::string& meaning) {
    command.add_option_function<std::string>(
        "--" + option,
        [arguments, option, cost](const std::string& text) {
          arguments->bounds.emplace_back(cost, read_amount(option, text, cost.ends_with("bytes")));
        },
        meaning);
  };
  bound("flops", "flops", "most FLOPs of a sample, e.g. 20M");
  bound("latency", "latency_ms", "longest latency of a sample in milliseconds, measured where it trains");
  bound("peak-memory", "peak_activation_bytes", "most bytes of activations of a sample, e.g. 256k");
  bound("parameters", "parameters", "most parameters of a network, e.g. 300k");
  command.add_option_function<std::string>(
      "--board", [arguments](const std::string& text) { arguments->device = device_room(text); },
      "device for which networks in int8 are searched: RAM and flash that are free for the network, e.g. "
      "256Ki,1Mi, or a name such as nrf52840 (see --list)");
  command.add_option_function<std::string>(
      "--time",
      [arguments](const std::string& text) {
        const auto seconds = parse_duration(text);
        if (!seconds || *seconds <= 0)
          throw CLI::ValidationError("--time: expected a duration, e.g. 20m or 2h, got " + text);
        arguments->time_s = *seconds;
      },
      "time for the search and the full training of its front (default: 1h)");
  command.add_option("--slots", arguments->slots, "trials at a time (default: one per core of this machine)")
      ->check(whole_number(1, kMostSlots));
  add_prep_options(command, arguments->options);
  command.add_flag("--force", arguments->force, "overwrite the files if they are there");
  return [arguments] { return run_init(*arguments); };
}

}  // namespace skyline::app
