// `skyline simulate`: how long a search would take with a number of slots, and how busy they would be.

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/config/config_file.hpp"
#include "app/simulate/simulation.hpp"
#include "core/config/config_text.hpp"
#include "core/text/wording.hpp"
#include "report/text/text_table.hpp"

#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {
namespace {

using engine::CommitBy;

struct SimulateArguments {
  std::filesystem::path config;
  std::vector<std::size_t> slots;
  std::filesystem::path from;         // run whose times are used; empty for none
  std::optional<std::size_t> trials;  // if not given, as many as the search proposes
  double mean_s = 60;
  double forecast_error = 0.3;
  std::optional<double> cv;
  double think_s = 0;
  bool search = false;   // simulate the search itself, too
  bool windows = false;  // show all windows that were compared
  std::vector<std::string> overrides;
};

constexpr int kMostTrials = 10'000'000;
constexpr int kMostSimulated = 100'000;  // slots
constexpr double kMostVariation = 10;
constexpr std::size_t kTrialsOfASlot = 20;  // used when windows are compared
constexpr double kAsBusy = 0.01;            // shares with a smaller difference count as equal

/// A window to compare, as a multiple of the slots.
struct WindowOfSlots {
  CommitBy commit;
  double of_slots;

  engine::EngineOptions options(std::size_t slots) const {
    engine::EngineOptions options;
    options.window = engine::Window(of_slots, true);
    options.commit = commit;
    options.virtual_slots = slots;
    return options;
  }
};

std::string name_of(CommitBy commit) {
  return commit == CommitBy::kVirtualTime ? "virtual_time" : "number";
}

std::string percent(double share) {
  return std::to_string(std::lround(100 * share)) + " %";
}

report::TextTable make_table() {
  using enum report::TextTable::Align;
  report::TextTable table;
  table.add_column("slots");
  table.add_column("commit", kLeft);
  table.add_column("window");
  table.add_column("wall time");
  table.add_column("busy");
  table.add_column("in all");
  table.add_column("slot hours");
  return table;
}

void add_row(report::TextTable& table, const std::string& commit, const std::string& window,
             const engine::FleetUse& use) {
  const double slot_hours = use.wall_s * static_cast<double>(use.slots) / 3600;
  table.add_row({std::to_string(use.slots), commit, window, report::duration_text(use.wall_s),
                 percent(use.to_last_start()), percent(use.in_all()),
                 report::significant_text(slot_hours, 3)});
}

/// Simulates windows of one order, from the smallest one, until a larger one is not better. Returns the
/// smallest of the best.
double compare_windows(const Simulation& simulation, std::size_t slots, CommitBy commit,
                       const std::vector<double>& windows, report::TextTable& table) {
  double best = windows.front();
  double busiest = 0;
  for (const double of_slots : windows) {
    const WindowOfSlots window{commit, of_slots};
    const engine::FleetUse use = simulation.run_steady(slots, kTrialsOfASlot * slots, window.options(slots));
    add_row(table, name_of(commit), objective::number_text(of_slots) + "x", use);
    if (use.to_last_start() <= busiest + kAsBusy) continue;
    busiest = use.to_last_start();
    best = of_slots;
  }
  return best;
}

void print_head(const Simulation& simulation, const SimulateArguments& arguments, const TimeLaw& law) {
  std::cout << "# " << counted(simulation.trials(), "trial") << " of "
            << (arguments.search ? "the search" : "random architectures of the space") << "; times ";
  if (law.cv) {
    std::cout << "lognormal (cv " << report::significant_text(*law.cv, 3) << ", mean "
              << report::duration_text(law.mean_s) << "), forecast with an error of "
              << report::significant_text(law.forecast_error, 3);
  } else if (law.measured.empty()) {
    std::cout << "of " << report::duration_text(law.mean_s) << " on average, as forecast with an error of "
              << report::significant_text(law.forecast_error, 3);
  } else {
    std::cout << "as measured in " << arguments.from.string() << ", of "
              << counted(law.measured.size(), "trial") << " that were forecast with an error of "
              << report::significant_text(law.forecast_error, 3);
  }
  std::cout << "\n# busy: share of the slots' time until the last trial begins; in all: until the end\n";
}

/// Says how long trials must be, so that a search that thinks about each has one for every slot.
void print_least_lengths(const SimulateArguments& arguments) {
  if (arguments.think_s == 0) return;
  std::string text;
  for (const std::size_t slots : arguments.slots) {
    text += (text.empty() ? " keeps " : ", ") + counted(slots, "slot") + " busy with trials of " +
            report::significant_text(arguments.think_s * static_cast<double>(slots), 3) + " s or more";
  }
  std::cout << "# a search that takes " << report::significant_text(arguments.think_s, 3)
            << " s for each proposal" << text << "\n";
}

std::string window_text(const RunConfig& config) {
  return RunOptions::table().to_config(config.sections.run).at("window").as_text();
}

/// Prints windows. They help a search that uses results and does not wait for generations.
/// @param shows_all  show all windows instead of the best
void print_windows(const Simulation& simulation, const std::vector<std::size_t>& slots, bool shows_all) {
  report::TextTable table = make_table();
  std::string best;
  for (const std::size_t count : slots) {
    const double number =
        compare_windows(simulation, count, CommitBy::kNumber, {1, 2, 3, 4, 5, 6, 8, 12, 16}, table);
    const double time =
        compare_windows(simulation, count, CommitBy::kVirtualTime, {1, 1.5, 2, 2.5, 3, 4, 6, 8}, table);
    best += "best window for " + counted(count, "slot") + ": " + objective::number_text(time) +
            "x by virtual time, " + objective::number_text(number) + "x by number\n";
    if (count != slots.back()) table.add_rule();
  }
  std::cout << "\n# windows of a search that waits for no generation, " << kTrialsOfASlot
            << " trials a slot, as many virtual slots as slots\n"
            << (shows_all ? table.text() : "") << best;
}

int run_simulate(const SimulateArguments& arguments) {
  const RunConfig config = RunConfig::parse(load_config(arguments.config, arguments.overrides), false);
  TimeLaw law{.mean_s = arguments.mean_s, .forecast_error = arguments.forecast_error, .cv = arguments.cv};
  if (!arguments.from.empty()) law = measured_law(run::OpenedRun::open(arguments.from));
  const Simulation simulation(config, {.law = law,
                                       .with_search = arguments.search,
                                       .trials = arguments.trials,
                                       .think_s = arguments.think_s});
  print_head(simulation, arguments, law);
  report::TextTable table = make_table();
  for (const std::size_t slots : arguments.slots) {
    add_row(table, name_of(config.sections.run.commit), window_text(config), simulation.run(slots));
  }
  std::cout << table.text() << std::flush;
  print_least_lengths(arguments);
  print_windows(simulation, arguments.slots, arguments.windows);
  return kExitDone;
}

}  // namespace

RunCommand simulate_command(CLI::App& command) {
  const auto arguments = std::make_shared<SimulateArguments>();
  add_config(command, arguments->config, arguments->overrides);
  command.add_option("--slots", arguments->slots, "numbers of slots, e.g. 64,256,1024")
      ->required()
      ->delimiter(',')
      ->check(whole_number(1, kMostSimulated));
  CLI::Option* from = add_path(command, "--from", arguments->from, "take the times of this run's trials");
  CLI::Option* trials =
      command.add_option("--trials", arguments->trials, "so many trials (default: those of the search)")
          ->check(whole_number(1, kMostTrials));
  command.add_option("--mean", arguments->mean_s, "seconds of a trial on average (default: 60)")
      ->check(number_within(above(0)))
      ->excludes(from);
  command
      .add_option("--forecast-error", arguments->forecast_error,
                  "coefficient of variation of a trial's time, measured by its forecast (default: 0.3)")
      ->check(number_within(at_least(0).at_most(kMostVariation)))
      ->excludes(from);
  command
      .add_option("--cv", arguments->cv,
                  "lognormal times with this coefficient of variation, whatever the space's networks cost")
      ->check(number_within(at_least(0).at_most(kMostVariation)))
      ->excludes(from);
  command.add_option_function<std::string>(
      "--think",
      [arguments](const std::string& text) {
        const auto seconds = parse_duration(text);
        if (!seconds) throw CLI::ValidationError("--think: expected a duration, e.g. 50ms, got " + text);
        arguments->think_s = *seconds;
      },
      "time that the search takes for each proposal, while trials go on (default: 0)");
  command
      .add_flag("--search", arguments->search,
                "simulate the search algorithm, too, with invented results: builds each network")
      ->excludes(trials);
  command.add_flag("--windows", arguments->windows,
                   "show all windows and orders of commits that were compared");
  return [arguments] { return run_simulate(*arguments); };
}

}  // namespace skyline::app
