#pragma once

#include "skyline/space/search_space.hpp"

#include <string>

namespace skyline::app {

/// Reads "depth=3,kernel=5", as --genotype has it. Parameters that the network does not use may be left out.
/// @throws UserError for an unknown name or value, or a missing one
space::Architecture named_architecture(const space::SearchSpace& space, const std::string& genotype);

}  // namespace skyline::app
