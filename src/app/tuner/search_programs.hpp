#pragma once

#include "skyline/search/cost_counter.hpp"
#include "skyline/search/tuner.hpp"

#include "app/config/config_sections.hpp"
#include "store/run_folder/run_folder.hpp"

#include <memory>

namespace skyline::app {

/// Returns what starts the programs that choose the trials of a run (`search.run`). The program gets the
/// variables that trainers get, and SKYLINE_TUNER_FD, the number of its socket. What it prints goes to
/// logs/tuner.log.
search::TunerStart tuner_start(const store::RunPaths& paths);

/// Returns what counts costs by the program of the section `costs`. The program starts at the first question
/// that the run's folder has no answer to, and gets SKYLINE_COSTS_FD, the number of its socket. What it
/// prints goes to logs/costs.log.
std::shared_ptr<search::CostCounter> make_counter(const CostsOptions& options,
                                                  const space::SearchSpace& space,
                                                  const store::RunPaths& paths);

}  // namespace skyline::app
