#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/core/option_kind.hpp"

#include "app/job/search_arguments.hpp"
#include "app/models/selected_model.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

// Options that several commands have.

namespace skyline::app {

constexpr int kMostSlots = 1'000'000;  // far more than any system allows
constexpr int kMostThreads = 1024;

// Upper bound for the number of a trial, or a seed.
constexpr std::int64_t kMostNumber = std::numeric_limits<std::int64_t>::max();

/// Every option with a whole number needs this: the library takes -1 for the largest number without a sign.
CLI::Validator whole_number(std::int64_t low, std::int64_t high);
/// Checks an option with any number. The library's own ranges let NaN pass, and print 300 digits for an open
/// end.
CLI::Validator number_within(const Range& range);
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
/// Replaces `~` at the start of a path by the home folder. An empty path, as of a variable that is not set,
/// is refused.
CLI::Validator home_expanded();

/// @param paths  one path or several
template <typename Paths>
CLI::Option* add_path(CLI::App& command, const std::string& name, Paths& paths, const std::string& meaning) {
  return command.add_option(name, paths, meaning)->transform(home_expanded());
}

void add_config(CLI::App& command, std::filesystem::path& config, std::vector<std::string>& overrides,
                const std::string& meaning = "configuration, YAML");
void add_start_timeout(CLI::App& command, std::optional<double>& timeout_s);
/// Adds the options that say how a run uses its ranks.
void add_job(CLI::App& command, SearchArguments& arguments);
/// Returns the command and its options by name, as they were given, without those that each rank may have of
/// its own. Of a configuration it says that there is one: the content counts, with its settings
/// (asked_of_rank).
ConfigNode words_of(const CLI::App& command);
/// Adds --with KEY=VALUE, for options of `skyline prep`.
void add_prep_options(CLI::App& command, std::vector<std::pair<std::string, std::string>>& options);
/// Adds the options that choose trials of a run, and returns them.
std::array<CLI::Option*, 2> add_trials(CLI::App& command, ModelChoice& choice);
/// Adds the options that choose models of a run.
void add_models(CLI::App& command, ModelChoice& choice);

}  // namespace skyline::app
