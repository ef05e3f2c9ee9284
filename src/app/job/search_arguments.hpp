#pragma once

#include "skyline/core/config_node.hpp"

#include "store/run_folder/run_folder.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {

struct RunConfig;

// For the ranks of a job to find each other, if not told otherwise.
constexpr double kStartTimeout_s = 600;

/// Whether a run that is in the folder is resumed.
enum class Resume {
  kNo,
  kIfThere,
  kMust,  // and a run has to be there
};

/// How a run begins whose configuration and first trials come from elsewhere. Used on rank 0 alone.
class RunBeginning {
 public:
  virtual ~RunBeginning() = default;
  virtual ConfigNode config() = 0;
  /// Writes the journal of a run that has none. @param config  of config(), checked
  virtual void write_journal(const store::RunPaths& paths, const RunConfig& config) = 0;
};

struct SearchArguments {
  std::filesystem::path config;  // empty: the run's own
  std::filesystem::path run;
  Resume resume = Resume::kNo;
  bool coordinator_only = false;
  bool quiet = false;
  double wait_s = 0;                                        // for a job that has the run folder, at most
  std::optional<double> start_timeout_s = kStartTimeout_s;  // nothing: for ever
  std::optional<std::size_t> slots;
  std::vector<std::string> overrides;       // key=value
  std::shared_ptr<RunBeginning> beginning;  // in place of a configuration file; nullptr: there is one
};

/// Collective over the ranks that the launcher started. Reports its own errors, so that one message is
/// printed and all ranks end. @return  the exit code
int run_search(const SearchArguments& arguments);

}  // namespace skyline::app
