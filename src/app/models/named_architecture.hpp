#pragma once

#include "skyline/space/search_space.hpp"

#include "app/config/run_config.hpp"

#include <string>

namespace skyline::app {

/// Reads "depth=3,kernel=5", as --genotype has it. Values that it leaves out and that count are drawn at
/// random from the run's seed, so that `where` and the constraints hold; a line on standard error says which.
/// @throws UserError for an unknown name or value, and if no architecture with these values was found
space::Architecture named_architecture(const RunConfig& config, const std::string& genotype);

}  // namespace skyline::app
