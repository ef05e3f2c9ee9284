#pragma once

#include "report/tracking/mlflow_server.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace skyline::report {

/// Makes a key from a text. Characters that MLflow does not allow become `_`, and so do parts between slashes
/// that are empty, `.` or `..`.
std::string mlflow_key(std::string text);

/// Gives each name a unique key: adds a number if another name has the key.
class MlflowKeys {
 public:
  const std::string& of(const std::string& name);

 private:
  std::map<std::string, std::string> keys_;  // keys by name
};

/// The data of a run for MLflow besides its metrics.
struct MlflowJob {
  std::filesystem::path state;  // path of mlflow.json
  std::string run_name;         // used unless the variables name a run
  std::string user;
  double begun_s = 0;  // seconds since 1970
  std::vector<MlflowText> params;
  std::vector<MlflowText> tags;
};

/// Sends metrics to an MLflow run: the one that MLFLOW_RUN_ID names, the one of the run's earlier jobs, or a
/// new one. mlflow.json keeps its id and the next step.
class MlflowSink final : public MetricSink {
 public:
  MlflowSink(MlflowSettings settings, std::unique_ptr<MlflowServer> server, MlflowJob job);

  std::string name() const override { return "MLflow at " + settings_.shown; }
  std::size_t batch_values() const override;
  std::uint64_t connect() override;
  void add(std::span<const store::MetricRecord> records) override;
  void end(RunEnd end, const std::vector<std::string>& front) override;

 private:
  bool go_on_with_earlier_run();
  void describe();
  void read_state();
  void save_state();

  MlflowSettings settings_;
  std::unique_ptr<MlflowServer> server_;
  MlflowJob job_;
  MlflowKeys keys_;
  bool connected_ = false;
  std::string run_id_;
  bool ours_ = false;       // this sink made the run, so it also sets its status
  bool described_ = false;  // parameters and tags are set
  std::uint64_t next_ = 0;  // first step that was not delivered
  bool warned_ = false;
};

/// Returns the settings of a resolved configuration as parameters by dotted path, at most 100, without the
/// network, which is long.
std::vector<MlflowText> mlflow_params(const ConfigNode& config);

}  // namespace skyline::report
