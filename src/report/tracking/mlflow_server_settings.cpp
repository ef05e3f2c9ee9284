#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"
#include "report/tracking/mlflow_server.hpp"

#include <string_view>

#include <fmt/format.h>

namespace skyline::report {
namespace {

constexpr const char* kAddress = "MLFLOW_TRACKING_URI";

bool flag_of(const VariableLookup& variable, const char* name) {
  const std::string text = lower_case(variable(name).value_or(""));
  if (text.empty() || text == "false" || text == "0") return false;
  if (text == "true" || text == "1") return true;
  throw UserError(std::string(name) + ": expected true or false, got " + text);
}

/// Removes user and password (http://user:password@host) and the query, which may be a signature, since they
/// must not be logged. Everything that may be a part of a password is removed, even what ends a host.
std::string without_credentials(const std::string& address) {
  const std::size_t host = address.find("://") + 3;
  const std::size_t query = address.find_first_of("?#", host);
  const std::size_t at = address.rfind('@');
  if (at == std::string::npos) return address.substr(0, query);
  if (query < at) return address.substr(0, host) + "(not shown)";
  return address.substr(0, host) +
         address.substr(at + 1, query == std::string::npos ? query : query - at - 1);
}

/// Azure ML's scheme means https. Its own client uses the second version of the interface, although the
/// workspace states the first.
std::string azure_address(const std::string& rest) {
  std::string address = "https://" + rest.substr(0, rest.find('?'));
  constexpr std::string_view kFirst = "/mlflow/v1.0/";
  if (const std::size_t at = address.find(kFirst); at != std::string::npos) {
    address.replace(at, kFirst.size(), "/mlflow/v2.0/");
  }
  return address;
}

void read_address(const std::string& uri, MlflowSettings& settings) {
  const std::size_t colon = uri.find(':');
  const std::string scheme = lower_case(uri.substr(0, colon == std::string::npos ? 0 : colon));
  const bool has_authority = colon != std::string::npos && uri.compare(colon, 3, "://") == 0;
  if (scheme.empty() || scheme == "file") {
    const std::string word = lower_case(uri);
    const bool is_folder = word != "databricks" && word != "databricks-uc" && word != "uc";
    throw UserError(fmt::format("{}: expected http, https or azureml, got {}{}", kAddress, uri,
                                is_folder
                                    ? ": MLflow gives folders up; start `mlflow server` for this one and "
                                      "name its address"
                                    : ""));
  }
  if (has_authority && (scheme == "http" || scheme == "https")) {
    settings.address = uri;
  } else if (has_authority && scheme == "azureml") {
    settings.address = azure_address(uri.substr(colon + 3));
  } else {
    throw UserError(fmt::format("{}: expected http, https or azureml, got {}:", kAddress, scheme));
  }
  while (settings.address.ends_with('/')) settings.address.pop_back();
  settings.shown = without_credentials(settings.address);
}

}  // namespace

bool shows_credentials(const MlflowSettings& settings) {
  const bool has_any = !settings.access.token.empty() || !settings.access.user.empty() ||
                       !settings.access.password.empty() || settings.shown != settings.address;
  constexpr std::string_view kPlain = "http://";
  if (!has_any || !lower_case(settings.address).starts_with(kPlain)) return false;
  const std::string rest = lower_case(settings.shown.substr(kPlain.size()));
  const std::string host =
      rest.substr(0, rest.starts_with('[') ? rest.find(']') + 1 : rest.find_first_of(":/"));
  return host != "localhost" && host != "[::1]" && !host.starts_with("127.");
}

std::optional<MlflowSettings> mlflow_settings(const VariableLookup& variable) {
  const std::string uri = variable(kAddress).value_or("");
  if (uri.empty()) return std::nullopt;
  MlflowSettings settings;
  read_address(uri, settings);
  settings.access.token = variable("MLFLOW_TRACKING_TOKEN").value_or("");
  settings.access.user = variable("MLFLOW_TRACKING_USERNAME").value_or("");
  settings.access.password = variable("MLFLOW_TRACKING_PASSWORD").value_or("");
  settings.access.insecure_tls = flag_of(variable, "MLFLOW_TRACKING_INSECURE_TLS");
  settings.access.certificates = variable("MLFLOW_TRACKING_SERVER_CERT_PATH").value_or("");
  settings.run_id = variable("MLFLOW_RUN_ID").value_or("");
  settings.run_name = variable("MLFLOW_RUN_NAME").value_or("");
  settings.experiment_id = variable("MLFLOW_EXPERIMENT_ID").value_or("");
  settings.experiment_name = variable("MLFLOW_EXPERIMENT_NAME").value_or("");
  return settings;
}

}  // namespace skyline::report
