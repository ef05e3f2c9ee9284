#pragma once

#include "store/run_folder/run_folder.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace skyline::report {

/// Returns the output of `skyline status RUN`, using only status.json, the claim, the journal and the slots'
/// tables, so it works while the run continues.
/// @param columns  at which the lines of the last commits are cut
/// @throws UserError if RUN is no run folder
std::string status_text(const store::RunPaths& paths, std::size_t columns = std::string::npos);
/// Returns the state as one line of JSON: the members of status.json, and `run`, `running`, `host`,
/// `process`, `journal` (its trials), `training` (what each slot trains) and `front_trials`. @param front
/// text of front_json
std::string status_json(const store::RunPaths& paths, const std::string& front);
/// Returns the progress in one line, with the trials that are being trained.
std::string status_line(const store::RunPaths& paths);
/// Returns the exit code of the last job, or nullopt if it was killed or is running.
std::optional<int> last_exit_code(const store::RunPaths& paths);

}  // namespace skyline::report
