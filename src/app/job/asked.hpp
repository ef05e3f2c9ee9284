#pragma once

#include "skyline/core/config_node.hpp"

#include "app/job/search_arguments.hpp"
#include "comm/environment.hpp"

#include <optional>
#include <string>
#include <vector>

namespace skyline::app {

/// A folder by its path, and by the inode number of the deepest part of the path that exists. All hosts that
/// mount a file system see the same number.
struct AskedFolder {
  std::string name;    // e.g. "--run"
  std::string path;    // absolute
  std::string number;  // with what is not there yet, e.g. "7/runs/a"
};

/// What a rank was asked for, as it travels.
struct Asked {
  ConfigNode words;                  // the command and its options without folders, by name
  std::vector<AskedFolder> folders;  // the one in which it was started, and those of options
  std::string config_file;           // the named configuration, or else that of the run
  std::optional<ConfigNode> config;  // content with the settings of the command line, if it can be read here
  std::string mistake;               // why a file that is there cannot be read
};

/// Reads what this process was asked for. Local.
Asked asked_of_rank(const SearchArguments& arguments);

/// Returns the first difference, "run.seed: rank 0 has 1, rank 3 has 2", or an empty text. A host may name
/// the folder in another way, and only rank 0 needs the configuration. Local.
/// @param name  name of the rank that was asked for `mine`, e.g. "rank 3"
std::string asked_difference(const Asked& first, const Asked& mine, const std::string& name);

/// Compares what all ranks were asked for. Returns a line about the first rank that was asked for something
/// else than rank 0, the same on every rank; empty if there is none. Writes nothing. Collective.
std::string asked_difference(comm::Environment& environment, const Asked& mine);

}  // namespace skyline::app
