#pragma once

#include "skyline/trial/trial.hpp"

#include "store/run_folder/run_folder.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// The deaths of jobs while a suspect trained alone on its node.
struct Suspect {
  struct Death {
    std::string job;    // random text that identifies the job
    std::string cause;  // "SIGSEGV", or kOomKiller
  };
  std::vector<Death> deaths;  // empty until it was alone
};
inline constexpr std::string_view kOomKiller = "OOM";

/// Trials that may have ended a job, each in a file checkpoints/K.suspect.
using Suspects = std::map<trial::TrialName, Suspect>;

/// Reads all suspects. @throws UserError if the folder cannot be read
Suspects read_suspects(const RunPaths& paths);
/// Publishes the file of a suspect. @throws UserError
void write_suspect(const RunPaths& paths, trial::TrialName trial, const Suspect& suspect);
/// Removes the suspect's file, if there is one. @throws UserError
void remove_suspect(const RunPaths& paths, trial::TrialName trial);

/// Reads a text of to_text; nullopt for any other text.
std::optional<trial::TrialName> parse_trial_name(std::string_view text);

}  // namespace skyline::store
