#pragma once

#include "skyline/core/config_node.hpp"

#include <string>

namespace skyline::app {

// JSON schemas (draft 2020-12) of the sections that no table of options describes: what is a language of its
// own, or depends on what is registered.
ConfigNode space_schema();
ConfigNode objectives_schema();
ConfigNode constraints_schema();
ConfigNode search_schema();

/// JSON schema of a whole configuration, for editors.
ConfigNode config_schema();

/// docs/configuration.md: every key of every section, from the tables of options.
std::string configuration_page();

}  // namespace skyline::app
