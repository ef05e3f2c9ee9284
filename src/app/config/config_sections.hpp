#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/core/option_table.hpp"

#include "app/config/config_options.hpp"

#include <optional>
#include <string>

namespace skyline::app {

/// A whole configuration as its tables read it: nothing is opened, and no network built.
struct ConfigSections {
  DataOptions data;
  ConfigNode space;
  std::string evaluator;         // name of its section
  ConfigNode evaluator_section;  // complete
  ConfigNode objectives;
  ConfigNode constraints;  // null if there are none
  ConfigNode search;       // complete
  std::optional<FinalOptions> final_training;
  RunOptions run;
  std::optional<engine::CheckpointOptions> checkpoint = engine::CheckpointOptions{};
};

/// All sections, those of the evaluators and algorithms that are registered by now included.
OptionTable<ConfigSections> all_sections();

/// JSON schema (draft 2020-12) of a whole configuration, for editors.
ConfigNode config_schema();
/// docs/configuration.md: every key of every section.
std::string configuration_page();

}  // namespace skyline::app
