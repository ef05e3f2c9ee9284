#pragma once

#include "run/opened_run.hpp"

#include <string>

namespace skyline::report {

// What made a run, and the command that makes it again, for those who cite it.

/// Returns the programs of all jobs, "0.1.0, commit 96ab6c3b0c1d, LibTorch 2.11.0, ...", each once; a version
/// alone where jobs have recorded nothing.
std::string programs_text(const run::OpenedRun& opened);
/// Returns the models of the processors of all jobs, each once; empty if jobs have recorded none.
std::string processors_text(const run::RunAccount& account);
/// Returns the command that makes the run again in another folder, with as many ranks as its last job had. It
/// is for the working folder in which the run was started.
std::string repeat_line(const run::OpenedRun& opened);

}  // namespace skyline::report
