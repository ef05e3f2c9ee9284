#pragma once

#include "skyline/core/exit_code.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline {
class ConfigNode;
namespace store {
struct RunPaths;
}
}  // namespace skyline

namespace skyline::model_export {
enum class Format;
}

namespace skyline::app {

struct RunConfig;

// For the ranks of a job to find each other, if not told otherwise.
constexpr double kStartTimeout_s = 600;

struct PrepArguments {
  std::string kind;  // of store::importer_names()
  std::vector<std::filesystem::path> sources;
  std::filesystem::path out;
  bool force = false;  // overwrite a file that is there
  std::size_t threads = 1;
  std::vector<std::pair<std::string, std::string>> options;  // of the importer: key and value
};

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

struct DoctorArguments {
  std::filesystem::path config;                             // empty: none is checked
  std::filesystem::path run;                                // empty: no folder is tried
  std::optional<int> threads;                               // of a slot; nothing: the configuration's, or 1
  std::optional<double> start_timeout_s = kStartTimeout_s;  // nothing: for ever
  std::vector<std::string> overrides;
};

struct ValidateArguments {
  std::filesystem::path config;
  bool count = false;  // the architectures of the space, however long that takes
  bool time = false;   // trains a few of them
  std::optional<std::size_t> slots;
  std::vector<std::string> overrides;
};

struct ShowArguments {
  std::filesystem::path config;
  int samples = 1;                      // random architectures
  std::optional<std::string> genotype;  // "depth=3,kernel=5", instead of random ones
  bool dot = false;
  std::vector<std::string> overrides;
};

enum class WeightsOf { kSearch, kFinal };

/// The models of a run that the command line names.
struct ModelChoice {
  std::filesystem::path run;
  std::vector<std::uint64_t> trials;
  bool front = false;                // in place of trials
  std::optional<WeightsOf> weights;  // nothing: of the full training if there was one, else of the search
};

struct ExportArguments {
  ModelChoice choice;
  model_export::Format format{};
  std::filesystem::path out;  // folder; empty: that of the run
  bool force = false;         // overwrite files of another folder
};

struct ReportArguments {
  std::vector<std::filesystem::path> runs;  // one or more
  std::filesystem::path out;                // empty: report.html, in the run's folder if there is one run
  bool force = false;                       // overwrite a file that the user names
  std::optional<int> watch_s;               // write it again after so many seconds, until the runs end
};

struct CompareArguments {
  std::vector<std::filesystem::path> runs;
  bool csv = false;     // statistics as CSV
  bool curves = false;  // hypervolumes by trial as CSV
};

struct StatusArguments {
  std::filesystem::path run;
  bool watch = false;
  bool json = false;
  bool exit_code = false;  // return the run's own
};

struct TrainArguments {
  ModelChoice choice;
  double epochs = 0;
  std::optional<std::uint64_t> seed;  // nothing: that of the run
  SearchArguments job;                // its run folder, and how it runs
};

/// Samples that a model is used on.
struct DataChoice {
  std::vector<std::filesystem::path> sources;                // a prepared file, or what `prep` takes
  std::string kind;                                          // of `prep`; empty: by what the source is
  std::vector<std::pair<std::string, std::string>> options;  // of `prep`
  std::string part;                                          // empty: the test set if there is one
};

struct PredictArguments {
  ModelChoice choice;
  DataChoice data;
  std::filesystem::path out;  // file; empty: standard output
  bool force = false;         // overwrite it
};

/// Each command prints to standard output and returns the exit code. @throws UserError, FaultError,
/// InternalError
int run_prep(const PrepArguments& arguments);
int run_validate(const ValidateArguments& arguments);
int run_show(const ShowArguments& arguments);
int run_schema(bool markdown);
/// Collective, as run_search is.
int run_train(const TrainArguments& arguments);
int run_predict(const PredictArguments& arguments);
int run_evaluate(const PredictArguments& arguments);
int run_export(const ExportArguments& arguments);
int run_report(const ReportArguments& arguments);
int run_compare(const CompareArguments& arguments);
int run_status(const StatusArguments& arguments);
int run_journal(const std::filesystem::path& run, bool canonical);
/// Collective over the ranks that the launcher started. Exit code 2 if a search could not run.
int run_doctor(const DoctorArguments& arguments);
/// Collective over the ranks that the launcher started. Reports its own errors, so that one message is
/// printed and all ranks end.
int run_search(const SearchArguments& arguments);

}  // namespace skyline::app
