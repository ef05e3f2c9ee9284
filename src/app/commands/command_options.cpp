#include "app/commands/command_options.hpp"

#include "core/config/config_text.hpp"
#include "core/system/process.hpp"
#include "core/text/wording.hpp"

#include <algorithm>
#include <string_view>

namespace skyline::app {
namespace {

double read_wait(const std::string& text) {
  const auto seconds = parse_duration(text);
  if (!seconds || *seconds < 0)
    throw CLI::ValidationError("--wait: expected a duration, e.g. 90s or 3m, got " + text);
  return *seconds;
}

/// Returns the time in seconds, or nullopt to wait for ever.
std::optional<double> read_start_timeout(const std::string& text) {
  if (text == "none") return std::nullopt;
  const auto seconds = parse_duration(text);
  if (!seconds || *seconds <= 0)
    throw CLI::ValidationError("--start-timeout: expected a duration, e.g. 90s or 10m, or none, got " + text);
  return seconds;
}

}  // namespace

CLI::Validator whole_number(std::int64_t low, std::int64_t high) {
  const auto check = [low, high](std::string& text) -> std::string {
    const auto number = parse_integer(text);
    if (number && *number >= low && *number <= high) return {};
    return "expected a whole number from " + std::to_string(low) + " to " + std::to_string(high) + ", got " +
           text;
  };
  return {check, "", "number"};
}

CLI::Validator number_within(const Range& range) {
  const auto check = [range](std::string& text) -> std::string {
    const auto found = parse_number(text);
    if (found && range.holds(*found)) return {};
    return "expected " + number(range).expected + ", got " + text;
  };
  return {check, "", "number"};
}

CLI::Validator home_expanded() {
  const auto expand = [](std::string& path) -> std::string {
    if (path.empty()) return "expected a path, got nothing";
    path = expand_home(path);
    return {};
  };
  return {expand, "", "home"};
}

void add_config(CLI::App& command, std::filesystem::path& config, std::vector<std::string>& overrides,
                const std::string& meaning) {
  add_path(command, "config", config, meaning)->required();
  command.add_option("--set", overrides, "replace a setting, e.g. --set search.iterations=3")
      ->allow_extra_args(false);
}

void add_prep_options(CLI::App& command, std::vector<std::pair<std::string, std::string>>& options) {
  command
      .add_option_function<std::vector<std::string>>(
          "--with",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const std::size_t equals = text.find('=');
              if (equals == std::string::npos)
                throw CLI::ValidationError("--with: expected KEY=VALUE, got " + text);
              options.emplace_back(text.substr(0, equals), text.substr(equals + 1));
            }
          },
          "option of skyline prep for this kind of source, e.g. --with layout=nhwc")
      ->allow_extra_args(false);
}

void add_start_timeout(CLI::App& command, std::optional<double>& timeout_s) {
  command.add_option_function<std::string>(
      "--start-timeout", [&timeout_s](const std::string& text) { timeout_s = read_start_timeout(text); },
      "end with exit code 76 if the ranks have not found each other by then (default: 10m; none: wait for "
      "ever)");
}

void add_job(CLI::App& command, SearchArguments& arguments) {
  static const std::map<std::string, Resume> resumes{{"true", Resume::kIfThere}, {"must", Resume::kMust}};
  add_path(command, "--run", arguments.run, "run folder, made if it is not there")->required();
  command
      .add_flag("--resume", arguments.resume,
                "resume the run in the folder, if there is one (=must: it has to be there); without a "
                "configuration by the run's own")
      ->transform(one_of(resumes));
  command.add_flag("--changed", arguments.changed,
                   "train on although files of the trainer have changed since; the journal says where");
  command.add_flag("--moved", arguments.moved,
                   "start the trainer in the current folder, although the run began in another one");
  command.add_option_function<std::string>(
      "--wait", [&arguments](const std::string& text) { arguments.wait_s = read_wait(text); },
      "wait for so long, e.g. 3m, for a job that has the run folder, or a lost one's claim on it");
  add_start_timeout(command, arguments.start_timeout_s);
  command.add_flag("--coordinator-only", arguments.coordinator_only, "rank 0 does not train");
  command
      .add_option(
          "--slots", arguments.slots,
          "trials at a time on a rank (default: its cores; 16 on a GPU, fewer if its memory is full, or one of a "
          "trainer of yours)")
      ->check(whole_number(1, kMostSlots));
  command.add_flag("--quiet", arguments.quiet, "warnings and the result alone on the terminal");
}

ConfigNode words_of(const CLI::App& command) {
  constexpr std::array<std::string_view, 4> kLeftOut{"--slots", "--quiet", "--start-timeout", "--set"};
  ConfigNode words;
  const auto add = [&](const std::string& name, const std::string& value) {
    words.set(name, ConfigNode::make_scalar(value, {}, true));
  };
  add("command", command.get_name());
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::ranges::find(kLeftOut, name) != kLeftOut.end()) continue;
    add(name, name == "config" ? "a file" : joined(option->results(), " "));
  }
  return words;
}

std::array<CLI::Option*, 2> add_trials(CLI::App& command, ModelChoice& choice) {
  return {command.add_option("--trial", choice.trials, "numbers of trials, e.g. 17 or 17,23")
              ->delimiter(',')
              ->check(whole_number(0, kMostNumber)),
          command.add_flag("--front", choice.front, "all trials on the front")};
}

void add_models(CLI::App& command, ModelChoice& choice) {
  static const std::map<std::string, WeightsOf> weights{
      {"search", WeightsOf::kSearch}, {"final", WeightsOf::kFinal}, {"refit", WeightsOf::kRefit}};
  add_path(command, "run", choice.run, "run folder, which is only read")->required();
  add_trials(command, choice);
  command
      .add_option("--weights", choice.weights,
                  "search, final or refit: of which training (default: the last of them that there was)")
      ->transform(one_of(weights));
}

}  // namespace skyline::app
