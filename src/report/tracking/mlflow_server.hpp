#pragma once

#include "report/tracking/http_client.hpp"
#include "report/tracking/mlflow_settings.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace skyline::report {

/// A parameter or a tag of an MLflow run.
struct MlflowText {
  std::string key;
  std::string value;
  bool operator==(const MlflowText&) const = default;
};

/// What is added to a run at once.
struct MlflowEntries {
  std::span<const store::MetricRecord> metrics = {};
  std::vector<MlflowText> params = {};
  std::vector<MlflowText> tags = {};
};

/// A run that is to be made.
struct NewMlflowRun {
  std::string experiment_id = {};    // or
  std::string experiment_name = {};  // or neither: the server's default
  std::string name;
  std::string user = {};
  std::int64_t start_ms = 0;
  std::vector<MlflowText> tags = {};
};

enum class MlflowStatus { kRunning, kFinished, kFailed, kKilled };

/// A server that keeps MLflow's runs. One thread at a time. All calls throw SinkAway for what may pass and
/// UserError for what will not.
class MlflowServer {
 public:
  virtual ~MlflowServer() = default;
  /// Returns the new run's id.
  virtual std::string create_run(const NewMlflowRun& run) = 0;
  /// Whether there is a run with this id, and it can be gone on with.
  virtual bool has_run(const std::string& id) = 0;
  /// At most 100 parameters and 100 tags, any number of metrics. After SinkAway the same entries are given
  /// again.
  virtual void log(const std::string& id, const MlflowEntries& entries) = 0;
  /// @param end_ms  not for kRunning
  virtual void set_status(const std::string& id, MlflowStatus status, std::int64_t end_ms) = 0;
};

/// One that is spoken to by MLflow's REST interface.
/// @see https://mlflow.org/docs/latest/rest-api.html
std::unique_ptr<MlflowServer> make_mlflow_server(const MlflowSettings& settings,
                                                 std::shared_ptr<const LastMoment> last_moment);

/// Milliseconds since 1970, MLflow's unit.
std::int64_t mlflow_time_ms(double unix_s);

}  // namespace skyline::report
