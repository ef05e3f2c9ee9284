#pragma once

#include <string>

namespace skyline::app {

/// docs/configuration.md: every key of every section, from the tables of options.
std::string configuration_page();

}  // namespace skyline::app
