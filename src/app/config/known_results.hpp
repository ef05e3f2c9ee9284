#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/search/algorithm.hpp"
#include "skyline/trial/metric.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::app {

/// The results that `search.known` names, as far as they are of a run's space.
struct KnownResults {
  std::vector<search::KnownSource> sources;    // with their checksums
  std::vector<std::filesystem::path> files;    // files that were read, one for each source
  std::vector<trial::CommittedTrial> results;  // one for each architecture of a source
  std::vector<std::string> summaries;          // lines for the user, one for each source
};

/// Reads the results. The folder of a run has them as search_state.csv. Where the configuration of a run
/// states a checksum, the run has a copy beside it, which is read instead.
/// @param written  the value of `search.known`, with its position in the configuration
/// @throws UserError for a source that is missing, that is not the one with which the run began, or that
/// lacks
///         a parameter of the space or a metric that is needed
KnownResults read_known(const ConfigNode& written, const space::SearchSpace& space,
                        const objective::ObjectiveSet& objectives, const std::vector<trial::Metric>& metrics);

/// Returns a configuration with the sources as those of a run are stated, if it names the same ones: a run
/// that is resumed reads its copies, whatever has become of the sources.
/// @param of_run  the configuration of the run
ConfigNode with_sources_of(ConfigNode root, const ConfigNode& of_run);

/// Copies the files of the sources into the folder of a run, so that it can be resumed without them.
void copy_known(const KnownResults& known, const std::filesystem::path& run);

}  // namespace skyline::app
