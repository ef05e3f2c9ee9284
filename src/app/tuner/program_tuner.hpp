#pragma once

#include "skyline/search/tuner.hpp"

#include "store/run_folder/run_folder.hpp"

namespace skyline::app {

/// Returns what starts the programs that choose the trials of a run (`search.run`). The program gets the
/// variables that trainers get, and SKYLINE_TUNER_FD, the number of its socket. What it prints goes to
/// logs/tuner.log.
search::TunerStart tuner_start(const store::RunPaths& paths);

}  // namespace skyline::app
