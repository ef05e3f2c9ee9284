#pragma once

#include <functional>
#include <optional>
#include <string>

namespace skyline::report {

/// Looks up an environment variable; nullptr if it is not set.
using Variables = std::function<const char*(const char* name)>;

/// The settings in MLflow's own environment variables (docs/clusters.md).
struct MlflowSettings {
  std::string address = {};  // without a slash at the end
  std::string shown = {};    // the address for messages, without credentials
  std::string token = {};
  std::string user = {};
  std::string password = {};
  bool insecure_tls = false;
  std::string certificates = {};  // file of authorities to trust; empty: the system's
  std::string run_id = {};        // empty: a run of ours is made
  std::string run_name = {};
  std::string experiment_id = {};
  std::string experiment_name = {};
};

/// Reads the variables. @return  nothing if MLFLOW_TRACKING_URI is not set or empty
/// @throws UserError naming the variable that has no meaning
std::optional<MlflowSettings> mlflow_settings(const Variables& variables);

/// Whether credentials would go over a network as they are: plain http to another machine.
bool shows_credentials(const MlflowSettings& settings);

}  // namespace skyline::report
