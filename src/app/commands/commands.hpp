#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/core/exit_code.hpp"

#include "app/job/search_arguments.hpp"
#include "app/models/taken_model.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace skyline::app {

/// Runs a command with its parsed arguments, prints to standard output and returns the exit code.
/// @throws UserError, FaultError, InternalError
using RunCommand = std::function<int()>;

// Each function defines the options of its command, and returns the function that runs it after parsing.
RunCommand prep_command(CLI::App& command);
RunCommand validate_command(CLI::App& command);
RunCommand show_command(CLI::App& command);
RunCommand simulate_command(CLI::App& command);
RunCommand schema_command(CLI::App& command);
RunCommand status_command(CLI::App& command);
RunCommand compare_command(CLI::App& command);
RunCommand journal_command(CLI::App& command);
RunCommand export_command(CLI::App& command);
RunCommand predict_command(CLI::App& command);
RunCommand evaluate_command(CLI::App& command);
RunCommand profile_command(CLI::App& command);
RunCommand report_command(CLI::App& command);
RunCommand trace_command(CLI::App& command);

// These commands are collective over the ranks that the launcher started.
RunCommand search_command(CLI::App& command);
RunCommand train_command(CLI::App& command);
RunCommand doctor_command(CLI::App& command);  // returns exit code 2 if a search could not run

// Options of several commands.

constexpr int kMostSlots = 1'000'000;  // far more than any system allows
constexpr int kMostThreads = 1024;

CLI::Validator whole_number(int low, int high);
/// Reads one of some words, each of which names a value of an enumeration.
template <typename Value>
CLI::Validator one_of(const std::map<std::string, Value>& values) {
  const auto read = [values](std::string& text) -> std::string {
    std::vector<std::string> words;
    for (const auto& [word, value] : values) {
      words.push_back(word);
      if (word != text) continue;
      text = std::to_string(static_cast<int>(value));  // the library reads this number
      return {};
    }
    return "got `" + text + "`, " + suggestion(text, words);
  };
  return {read, "", "word"};
}
/// Replaces `~` at the start of a path by the home folder.
CLI::Validator home_expanded();

/// @param paths  one path or several
template <typename Paths>
CLI::Option* add_path(CLI::App& command, const std::string& name, Paths& paths, const std::string& meaning) {
  return command.add_option(name, paths, meaning)->transform(home_expanded());
}

void add_config(CLI::App& command, std::filesystem::path& config, std::vector<std::string>& overrides);
void add_start_timeout(CLI::App& command, std::optional<double>& timeout_s);
/// Adds the options that say how a run uses its ranks.
void add_job(CLI::App& command, SearchArguments& arguments);
/// Adds the options that choose trials of a run.
void add_trials(CLI::App& command, ModelChoice& choice);
/// Adds the options that choose models of a run.
void add_models(CLI::App& command, ModelChoice& choice);

}  // namespace skyline::app
