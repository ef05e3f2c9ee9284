#pragma once

#include "skyline/core/config_node.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::app {

/// Reads a configuration with the settings of the command line (key=value). If its `space` is a file, that is
/// looked for beside the configuration and read. @throws UserError
/// @param of_run  whether it is config.yaml of a run, which is no link and has its space itself; the file is
///                taken for that, too, if it lies beside a journal
ConfigNode load_config(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                       bool of_run = false);

/// Returns the part of a resolved configuration that makes its run, without keys that may change. Equal runs
/// have equal trees. All keys of an algorithm or evaluator that this program lacks are included.
ConfigNode identity_of(const ConfigNode& resolved);

/// Returns the dotted path of the first setting that would make two resolved configurations different runs,
/// or "".
std::string first_identity_difference(const ConfigNode& left, const ConfigNode& right);

}  // namespace skyline::app
