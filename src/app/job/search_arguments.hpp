#pragma once

#include "skyline/core/config_node.hpp"

#include "store/journal/journal.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::app {

struct RunConfig;

// Default time for the ranks of a job to find each other.
constexpr double kStartTimeout_s = 600;

/// Says whether an existing run in the folder is resumed.
enum class Resume {
  kNo,
  kIfThere,
  kMust,  // resumes, and fails without a run
};

/// The beginning of a run whose configuration and first trials come from elsewhere. Used on rank 0 only.
class PresetRun {
 public:
  virtual ~PresetRun() = default;
  virtual ConfigNode config() = 0;
  /// Returns the checksums of the user's programs that its first trials were trained with, as in a journal.
  virtual store::Checksums programs() const = 0;
  /// Writes the journal of a run that has none.
  /// @param config  the result of config(), checked
  virtual void write_journal(const store::RunPaths& paths, const RunConfig& config) = 0;
};

struct SearchArguments {
  ConfigNode words;              // the command and its options by name, which all ranks must share
  std::filesystem::path config;  // empty for the run's own
  std::filesystem::path run;
  Resume resume = Resume::kNo;
  bool changed = false;  // whether files of the user's programs may be others than when the run began
  bool moved = false;    // whether the user's programs start in this folder, wherever they did before
  bool coordinator_only = false;
  bool quiet = false;
  double wait_s = 0;                                        // longest wait for a job that has the run folder
  std::optional<double> start_timeout_s = kStartTimeout_s;  // no value: wait for ever
  std::optional<std::size_t> slots;
  std::vector<std::string> overrides;    // texts "key=value"
  std::shared_ptr<PresetRun> beginning;  // used instead of a configuration file; may be nullptr
};

/// Runs a search. Prints its own errors, so that one message appears and all ranks end. Returns the exit
/// code. Collective over the ranks that the launcher started.
int run_search(const SearchArguments& arguments);

}  // namespace skyline::app
