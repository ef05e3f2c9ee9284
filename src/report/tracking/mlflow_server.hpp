#pragma once

#include "core/system/process.hpp"
#include "report/tracking/http_client.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace skyline::report {

/// The settings in MLflow's own environment variables (docs/clusters.md).
struct MlflowSettings {
  std::string address = {};  // has no slash at the end
  std::string shown = {};    // the address for messages, without credentials
  HttpSettings access = {};
  std::string run_id = {};  // if empty, a new run is made
  std::string run_name = {};
  std::string experiment_id = {};
  std::string experiment_name = {};
};

/// Reads the variables. Returns nullopt if MLFLOW_TRACKING_URI is not set or empty.
/// @throws UserError with the variable whose value has no meaning
std::optional<MlflowSettings> mlflow_settings(const VariableLookup& variable);

/// Returns whether credentials would cross a network unencrypted: plain http to another machine.
bool shows_credentials(const MlflowSettings& settings);

/// A parameter or a tag of an MLflow run.
struct MlflowText {
  std::string key;
  std::string value;
  bool operator==(const MlflowText&) const = default;
};

/// Entries that are added to a run at once.
struct MlflowEntries {
  std::span<const store::MetricRecord> metrics = {};
  std::vector<MlflowText> params = {};
  std::vector<MlflowText> tags = {};
};

struct NewMlflowRun {
  std::string experiment_id = {};    // preferred if it is not empty
  std::string experiment_name = {};  // used otherwise; if both are empty, the server's default is used
  std::string name;
  std::string user = {};
  std::int64_t start_ms = 0;
  std::vector<MlflowText> tags = {};
};

enum class MlflowStatus { kRunning, kFinished, kFailed, kKilled };

/// A server that stores MLflow's runs. One thread at a time may use it. All calls throw SinkAway for problems
/// that may pass and UserError for others.
class MlflowServer {
 public:
  virtual ~MlflowServer() = default;
  /// Makes a run and returns its id.
  virtual std::string create_run(const NewMlflowRun& run) = 0;
  /// Returns whether a run with this id exists and can be continued.
  virtual bool has_run(const std::string& id) = 0;
  /// Logs at most 100 parameters and 100 tags, and any number of metrics. After SinkAway they are given
  /// again.
  virtual void log(const std::string& id, const MlflowEntries& entries) = 0;
  /// @param end_ms  ignored for kRunning
  virtual void set_status(const std::string& id, MlflowStatus status, std::int64_t end_ms) = 0;
};

/// Makes a server that is used through MLflow's REST interface.
/// @see https://mlflow.org/docs/latest/rest-api.html
std::unique_ptr<MlflowServer> make_mlflow_server(const MlflowSettings& settings,
                                                 std::shared_ptr<const LastMoment> last_moment);

/// Returns milliseconds since 1970, MLflow's unit.
std::int64_t mlflow_time_ms(double unix_s);

}  // namespace skyline::report
