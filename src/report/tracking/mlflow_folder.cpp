#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include "core/config/scalar_text.hpp"
#include "core/text/hash.hpp"
#include "report/tracking/mlflow_store.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

namespace skyline::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultExperiment = "0";
constexpr const char* kMeta = "meta.yaml";

/// Numbers of mlflow.protos.service_pb2.RunStatus.
int number_of(MlflowStatus status) {
  switch (status) {
    case MlflowStatus::kFinished:
      return 3;
    case MlflowStatus::kFailed:
      return 4;
    case MlflowStatus::kKilled:
      return 5;
    case MlflowStatus::kRunning:
      break;
  }
  return 1;
}

std::string random_hex(std::size_t digits) {
  std::random_device device;
  std::string text;
  while (text.size() < digits) text += fmt::format("{:08x}", device() & 0xFFFFFFFFU);
  return text.substr(0, digits);
}

/// A YAML scalar that is text, whatever it looks like.
std::string yaml_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += c;
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + "'";
}

/// A scalar as MLflow or we wrote it in one line.
std::string plain_text(std::string text) {
  if (text.size() < 2 || (text.front() != '\'' && text.front() != '"') || text.back() != text.front())
    return text;
  const std::string quote(1, text.front());
  text = text.substr(1, text.size() - 2);
  for (std::size_t at = 0; (at = text.find(quote + quote, at)) != std::string::npos; ++at) text.erase(at, 1);
  return text;
}

/// The value of a key of a meta.yaml; empty if it is not there.
std::string value_of(const std::string& meta, const std::string& key) {
  std::istringstream lines(meta);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key + ": ")) return plain_text(line.substr(key.size() + 2));
  }
  return "";
}

/// A file: URI; what is not plain in one is coded.
std::string file_uri(const fs::path& path) {
  constexpr std::string_view kPlain = "/-_.~";
  std::string uri = "file://";
  for (const char c : path.string()) {
    const auto code = static_cast<unsigned char>(c);
    const bool plain = code < 0x80 && (std::isalnum(code) != 0 || kPlain.find(c) != std::string_view::npos);
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", code);
  }
  return uri;
}

[[noreturn]] void fail(const char* task, const fs::path& path, int error) {
  throw SinkAway(fmt::format("cannot {} {}: {}", task, path.string(), system_error_text(error)));
}

void write(const fs::path& path, const std::string& text, std::ios::openmode mode) {
  errno = 0;
  std::ofstream file(path, mode | std::ios::binary);
  file << text;
  file.close();
  if (!file) fail("write", path, errno != 0 ? errno : EIO);
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail("make the folder", path, error.value());
}

/// Folders below `folder` that hold a meta.yaml.
std::vector<fs::path> described_folders(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (fs::exists(entry->path() / kMeta, ignored)) found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// A value of a metric.
struct Sample {
  double unix_s = 0;
  double value = 0;
  std::uint64_t step = 0;
};

/// The file of a metric: a line a value. MLflow refuses a run with a line that is torn.
class History {
 public:
  explicit History(fs::path path) : path_(std::move(path)) {}

  /// Values whose steps are there, from a try or a job that failed behind it, are left out. @throws SinkAway
  void add(const std::vector<Sample>& samples) {
    make_folder(path_.parent_path());
    read_if_changed();
    std::string text;
    for (const Sample& sample : samples) {
      if (steps_.contains(sample.step)) continue;
      text += fmt::format("{} {} {}\n", mlflow_time_ms(sample.unix_s), objective::number_text(sample.value),
                          sample.step);
    }
    if (text.empty()) return;
    try {
      write(path_, text, std::ios::app);
    } catch (const SinkAway&) {
      cut();
      throw;
    }
    length_ += text.size();
    for (const Sample& sample : samples) steps_.insert(sample.step);
  }

 private:
  /// Takes in what others have written, and cuts off a line that has no end.
  void read_if_changed() {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path_, error);
    if (error == std::errc::no_such_file_or_directory) {
      length_ = 0;
      steps_.clear();
      return;
    }
    if (error) fail("read", path_, error.value());
    if (size == length_) return;
    const std::string text = read_text();
    length_ = text.rfind('\n') + 1;  // none: 0
    steps_.clear();
    std::istringstream lines(text.substr(0, length_));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line.substr(line.rfind(' ') + 1));
      if (std::uint64_t step = 0; words >> step) steps_.insert(step);
    }
    if (text.size() != length_ && !cut()) fail("cut", path_, EIO);
  }

  std::string read_text() const {
    try {
      return store::read_file(path_);
    } catch (const UserError& problem) {
      throw SinkAway(problem.what());
    }
  }

  bool cut() const {
    std::error_code error;
    fs::resize_file(path_, length_, error);
    return !error;
  }

  fs::path path_;
  std::uintmax_t length_ = 0;
  std::set<std::uint64_t> steps_;
};

class MlflowFolder final : public MlflowStore {
 public:
  explicit MlflowFolder(const fs::path& folder) : folder_(fs::absolute(folder)) {}

  std::string create_run(const NewMlflowRun& run) override {
    const fs::path experiment = experiment_of(run);
    const std::string id = random_hex(32);
    const fs::path home = experiment / id;
    for (const char* part : {"metrics", "params", "tags", "artifacts"}) make_folder(home / part);
    log_texts(home / "tags", run.tags);
    log_texts(home / "tags", {{"mlflow.runName", run.name}});
    publish(home / kMeta, fmt::format("artifact_uri: {}\nend_time: null\nentry_point_name: ''\n"
                                      "experiment_id: {}\nlifecycle_stage: active\nrun_id: {}\nrun_name: {}\n"
                                      "run_uuid: {}\nsource_name: ''\nsource_type: 4\nsource_version: ''\n"
                                      "start_time: {}\nstatus: 1\ntags: []\nuser_id: {}\n",
                                      yaml_text(file_uri(home / "artifacts")),
                                      yaml_text(experiment.filename().string()), yaml_text(id),
                                      yaml_text(run.name), yaml_text(id), run.start_ms, yaml_text(run.user)));
    return id;
  }

  bool has_run(const std::string& id) override {
    const fs::path home = find_run(id);
    return !home.empty() && value_of(store::read_file(home / kMeta), "lifecycle_stage") == "active";
  }

  void log(const std::string& id, const MlflowEntries& entries) override {
    const fs::path home = home_of(id);
    std::map<std::string, std::vector<Sample>> samples;
    for (const store::MetricRecord& record : entries.metrics) {
      for (const store::NamedValue& named : record.values) {
        samples[named.name].push_back({record.unix_s, named.value, record.step});
      }
    }
    for (const auto& [key, of_key] : samples) {
      const fs::path path = home / "metrics" / key;
      histories_.try_emplace(path.string(), path).first->second.add(of_key);
    }
    log_texts(home / "params", entries.params);
    log_texts(home / "tags", entries.tags);
  }

  void set_status(const std::string& id, MlflowStatus status, std::int64_t end_ms) override {
    const fs::path meta = home_of(id) / kMeta;
    const bool running = status == MlflowStatus::kRunning;
    std::istringstream lines(store::read_file(meta));
    std::string changed;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("status: ")) line = "status: " + std::to_string(number_of(status));
      if (line.starts_with("end_time: ")) line = "end_time: " + (running ? "null" : std::to_string(end_ms));
      changed += line + "\n";
    }
    publish(meta, changed);
  }

 private:
  /// @throws SinkAway
  static void publish(const fs::path& path, const std::string& text) {
    try {
      store::publish_file(path, text, store::Effort::kOnce);
    } catch (const UserError& problem) {
      throw SinkAway(problem.what());
    }
  }

  /// Leaves one that is there as it is. @throws SinkAway
  static void publish_new(const fs::path& path, const std::string& text) {
    try {
      store::publish_new_file(path, text, store::Effort::kOnce);
    } catch (const UserError& problem) {
      throw SinkAway(problem.what());
    }
  }

  static void log_texts(const fs::path& folder, const std::vector<MlflowText>& texts) {
    for (const MlflowText& text : texts) {
      make_folder((folder / text.key).parent_path());
      write(folder / text.key, text.value, std::ios::trunc);
    }
  }

  fs::path experiment_of(const NewMlflowRun& run) {
    if (run.experiment_id.empty() && !run.experiment_name.empty())
      return experiment_named(run.experiment_name);
    const std::string id = run.experiment_id.empty() ? kDefaultExperiment : run.experiment_id;
    if (id == kDefaultExperiment && !store::exists(folder_ / id / kMeta)) make_experiment(id, "Default");
    if (!store::exists(folder_ / id / kMeta)) {
      throw UserError(folder_.string() + " has no experiment " + id + ": check MLFLOW_EXPERIMENT_ID");
    }
    return folder_ / id;
  }

  fs::path experiment_named(const std::string& name) {
    for (const fs::path& experiment : described_folders(folder_)) {
      if (value_of(store::read_file(experiment / kMeta), "name") == name) return experiment;
    }
    // The same one for jobs that make it at the same time.
    constexpr std::uint64_t kMostDigits = 1'000'000'000'000'000'000;  // 18, as MLflow's own
    return make_experiment(std::to_string(stable_hash64(name) % kMostDigits), name);
  }

  fs::path make_experiment(const std::string& id, const std::string& name) {
    const fs::path home = folder_ / id;
    make_folder(home);
    const std::int64_t now_ms = mlflow_time_ms(static_cast<double>(std::time(nullptr)));
    publish_new(home / kMeta,
                fmt::format("artifact_location: {}\ncreation_time: {}\nexperiment_id: {}\n"
                            "last_update_time: {}\nlifecycle_stage: active\nname: {}\n",
                            yaml_text(file_uri(home)), now_ms, yaml_text(id), now_ms, yaml_text(name)));
    return home;
  }

  /// Empty if there is none.
  fs::path find_run(const std::string& id) {
    if (id == found_id_) return found_;
    for (const fs::path& experiment : described_folders(folder_)) {
      if (!store::exists(experiment / id / kMeta)) continue;
      found_id_ = id;
      return found_ = experiment / id;
    }
    return {};
  }

  fs::path home_of(const std::string& id) {
    const fs::path home = find_run(id);
    if (!home.empty()) return home;
    throw UserError(folder_.string() + " has no run " + id + ": check MLFLOW_RUN_ID and MLFLOW_TRACKING_URI");
  }

  fs::path folder_;
  std::map<std::string, History> histories_;  // by path
  std::string found_id_;
  fs::path found_;
};

}  // namespace

std::unique_ptr<MlflowStore> make_mlflow_folder(const fs::path& folder) {
  return std::make_unique<MlflowFolder>(folder);
}

}  // namespace skyline::report
