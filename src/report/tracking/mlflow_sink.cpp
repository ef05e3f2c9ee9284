#include "report/tracking/mlflow_sink.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace skyline::report {
namespace {

constexpr std::size_t kMostBytes = 250;

using Json = nlohmann::ordered_json;

constexpr std::size_t kBatchValues = 160;     // values of a batch; one more trial still fits the request
constexpr std::size_t kMostParams = 100;      // parameters per request
constexpr std::size_t kMostParamBytes = 250;  // limit in every version of MLflow
constexpr std::size_t kMostTagBytes = 1000;
constexpr const char* kNetwork = "space.network";

MlflowStatus status_of(RunEnd end) {
  constexpr std::array kStatuses{MlflowStatus::kFinished, MlflowStatus::kKilled, MlflowStatus::kFailed};
  return kStatuses.at(static_cast<std::size_t>(end));
}

std::string flow_text(const ConfigNode& node) {
  if (node.is_scalar()) return node.as_text();
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (node.is_list()) {
    for (const ConfigNode& item : node.items()) add(flow_text(item));
    return "[" + text + "]";
  }
  if (!node.is_map()) return "";
  for (const ConfigNode::Entry& entry : node.entries()) add(entry.key + ": " + flow_text(entry.value));
  return "{" + text + "}";
}

void add_params(const ConfigNode& node, const std::string& path, std::vector<MlflowText>& params) {
  if (path == kNetwork || params.size() == kMostParams) return;
  if (node.is_map()) {
    for (const ConfigNode::Entry& entry : node.entries()) {
      add_params(entry.value, path.empty() ? entry.key : path + "." + entry.key, params);
    }
    return;
  }
  std::string key = mlflow_key(path);
  std::replace(key.begin(), key.end(), '/', '_');  // only groups of metrics have a slash
  params.push_back({key, flow_text(node).substr(0, kMostParamBytes)});
}

/// Returns as many whole words as fit.
std::string words_within(const std::vector<std::string>& words, std::size_t most_bytes) {
  std::string text;
  for (const std::string& word : words) {
    if (text.size() + word.size() + 4 > most_bytes) return text + " ...";
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

}  // namespace

std::string mlflow_key(std::string text) {
  constexpr std::string_view kOthers = "_-. /";
  for (char& c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool plain = code < 0x80 && std::isalnum(code) != 0;
    if (!plain && kOthers.find(c) == std::string_view::npos) c = '_';
  }
  text = text.substr(0, kMostBytes);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::string legal = part.empty()                  ? "_"
                              : part == "." || part == ".." ? std::string(part.size(), '_')
                                                            : part;
    text.replace(begin, part.size(), legal);
    begin += legal.size() + 1;
  }
  if (text.size() > kMostBytes) {
    text.resize(kMostBytes);
    text.back() = '_';  // replaces a character that was cut
  }
  return text;
}

const std::string& MlflowKeys::of(const std::string& name) {
  if (const auto found = keys_.find(name); found != keys_.end()) return found->second;
  const std::string plain = mlflow_key(name);
  std::string key = plain;
  const auto is_taken = [&](const auto& entry) { return entry.second == key; };
  for (std::size_t number = 2; std::ranges::any_of(keys_, is_taken); ++number) {
    const std::string suffix = "_" + std::to_string(number);
    key = plain.substr(0, kMostBytes - suffix.size()) + suffix;
  }
  return keys_.emplace(name, std::move(key)).first->second;
}

std::vector<MlflowText> mlflow_params(const ConfigNode& config) {
  std::vector<MlflowText> params;
  add_params(config, "", params);
  return params;
}

MlflowSink::MlflowSink(MlflowSettings settings, std::unique_ptr<MlflowServer> server, MlflowJob job)
    : settings_(std::move(settings)), server_(std::move(server)), job_(std::move(job)) {}

std::size_t MlflowSink::batch_values() const {
  return kBatchValues;
}

void MlflowSink::add(std::span<const store::MetricRecord> records) {
  std::vector<store::MetricRecord> keyed(records.begin(), records.end());
  for (store::MetricRecord& record : keyed) {
    for (store::NamedValue& named : record.values) named.name = keys_.of(named.name);
  }
  server_->log(run_id_, {.metrics = keyed});
  next_ = records.back().step + 1;
  save_state();
}

std::uint64_t MlflowSink::connect() {
  read_state();
  if (!settings_.run_id.empty()) {
    if (run_id_ != settings_.run_id) {
      run_id_ = settings_.run_id;
      described_ = ours_ = false;
      next_ = 0;
    }
  } else if (!go_on_with_earlier_run()) {
    run_id_ = server_->create_run({.experiment_id = settings_.experiment_id,
                                   .experiment_name = settings_.experiment_name,
                                   .name = settings_.run_name.empty() ? job_.run_name : settings_.run_name,
                                   .user = job_.user,
                                   .start_ms = mlflow_time_ms(job_.begun_s)});
    ours_ = true;
    described_ = false;
    next_ = 0;
  }
  save_state();
  if (!described_) describe();
  connected_ = true;
  log::info(fmt::format("{}: run {}", name(), run_id_));
  return next_;
}

bool MlflowSink::go_on_with_earlier_run() {
  if (run_id_.empty() || !server_->has_run(run_id_)) return false;
  if (ours_) server_->set_status(run_id_, MlflowStatus::kRunning, 0);
  return true;
}

void MlflowSink::describe() {
  server_->log(run_id_, {.tags = job_.tags});
  try {
    server_->log(run_id_, {.params = job_.params});
  } catch (const SinkAway&) {
    throw;
  } catch (const Problem& problem) {
    log::warning(fmt::format("{}; the run is tracked without its settings", problem.what()));
  }
  described_ = true;
  save_state();
}

void MlflowSink::end(RunEnd end, const std::vector<std::string>& front) {
  if (!connected_) return;  // there was nothing to report
  try {
    server_->log(run_id_, {.tags = {{"skyline.front", words_within(front, kMostTagBytes)}}});
  } catch (const Problem& problem) {
    if (!ours_) throw;
    log::warning(fmt::format("{}; the run is ended without its front", problem.what()));
  }
  if (ours_) server_->set_status(run_id_, status_of(end), mlflow_time_ms(unix_now_s()));
}

/// A state that cannot be read, or belongs to another server, is ignored.
void MlflowSink::read_state() {
  try {
    if (!store::exists(job_.state)) return;
    const Json state = Json::parse(shallow_json(store::read_file(job_.state)));
    if (state.at("address") != settings_.shown) return;
    run_id_ = state.at("run_id").get<std::string>();
    ours_ = state.at("ours").get<bool>();
    described_ = state.at("described").get<bool>();
    next_ = state.at("next_step").get<std::uint64_t>();
  } catch (const std::exception& problem) {
    log::warning(fmt::format("{}: {}; MLflow gets a new run", job_.state.string(), problem.what()));
  }
}

void MlflowSink::save_state() {
  const Json state{{"address", settings_.shown},
                   {"run_id", run_id_},
                   {"ours", ours_},
                   {"described", described_},
                   {"next_step", next_}};
  try {
    store::publish_file(job_.state, state.dump(2) + "\n", store::Effort::kOnce);
  } catch (const Problem& problem) {
    if (!std::exchange(warned_, true)) {
      log::warning(fmt::format("{}; a job with --resume may tell MLflow some trials again", problem.what()));
    }
  }
}

}  // namespace skyline::report
