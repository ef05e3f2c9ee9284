#include "report/tracking/mlflow_server.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/hash.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace skyline::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr long kOk = 200;
constexpr long kBadRequest = 400;
constexpr long kUnauthorized = 401;
constexpr long kForbidden = 403;
constexpr long kNotFound = 404;
constexpr long kRequestTimeout = 408;
constexpr long kTooLarge = 413;
constexpr long kTooManyRequests = 429;
constexpr long kServerError = 500;
constexpr std::size_t kMostMetrics = 200;  // metrics per request: Azure ML's limit; MLflow's own is 1000
constexpr std::size_t kMostQuoted = 200;
constexpr const char* kKeyTag = "skyline.key";

/// Returns a server's reply as a part of one line.
std::string quoted(const HttpReply& reply) {
  const Json body = Json::parse(shallow_json(reply.body), nullptr, false);
  std::string text = reply.body;
  if (body.is_object() && body.contains("message") && body["message"].is_string()) text = body["message"];
  std::erase_if(text, [](unsigned char c) { return c < ' ' && c != '\n'; });
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > kMostQuoted) text = text.substr(0, kMostQuoted) + "...";
  return text.empty() ? "" : ": " + text;
}

Json to_json(const std::vector<MlflowText>& texts) {
  Json list = Json::array();
  for (const MlflowText& text : texts) list.push_back({{"key", text.key}, {"value", text.value}});
  return list;
}

Json to_json(std::span<const store::MetricRecord> records) {
  Json list = Json::array();
  for (const store::MetricRecord& record : records) {
    for (const store::NamedValue& named : record.values) {
      list.push_back({{"key", named.name},
                      {"value", named.value},
                      {"timestamp", mlflow_time_ms(record.unix_s)},
                      {"step", record.step}});
    }
  }
  return list;
}

const char* to_text(MlflowStatus status) {
  constexpr std::array kWords{"RUNNING", "FINISHED", "FAILED", "KILLED"};
  return kWords.at(static_cast<std::size_t>(status));
}

class RestServer final : public MlflowServer {
 public:
  RestServer(const MlflowSettings& settings, std::shared_ptr<const LastMoment> last_moment)
      : settings_(settings), client_(settings.access, std::move(last_moment)) {}

  std::string create_run(const NewMlflowRun& run) override {
    const std::string experiment = experiment_of(run);
    // If the answer to the first attempt got lost, a second one must not make a second run.
    if (std::exchange(tried_to_create_, true)) {
      if (const std::string id = find_created(experiment); !id.empty()) return id;
    } else {
      key_ = sha256_hex(fmt::format("{} {} {}", run.name, run.start_ms, fmt::ptr(this))).substr(0, 16);
    }
    std::vector<MlflowText> tags = run.tags;
    tags.push_back({kKeyTag, key_});
    tags.push_back({"mlflow.runName", run.name});
    const Json body{{"experiment_id", experiment},
                    {"start_time", run.start_ms},
                    {"run_name", run.name},
                    {"user_id", run.user},
                    {"tags", to_json(tags)}};
    const HttpReply reply = post("runs/create", body);
    if (reply.status == kNotFound) fail_not_found(reply, "experiment " + experiment, "MLFLOW_EXPERIMENT_ID");
    return text_at(accepted(reply), "/run/info/run_id");
  }

  bool has_run(const std::string& id) override {
    const HttpReply reply = get("runs/get?run_id=" + client_.escaped(id));
    if (reply.status == kNotFound) return false;
    const Json run = accepted(reply);
    return run.value(Json::json_pointer("/run/info/lifecycle_stage"), "active") == "active";
  }

  void log(const std::string& id, const MlflowEntries& entries) override {
    const Json metrics = to_json(entries.metrics);
    while (num_logged_ < metrics.size()) log_some_metrics(id, metrics);
    if (!entries.params.empty() || !entries.tags.empty()) {
      change_run("runs/log-batch", id,
                 {{"run_id", id},
                  {"metrics", Json::array()},
                  {"params", to_json(entries.params)},
                  {"tags", to_json(entries.tags)}});
    }
    num_logged_ = 0;
  }

  void set_status(const std::string& id, MlflowStatus status, std::int64_t end_ms) override {
    Json body{{"run_id", id}, {"status", to_text(status)}};
    if (status != MlflowStatus::kRunning) body["end_time"] = end_ms;
    change_run("runs/update", id, body);
  }

 private:
  std::string url(const std::string& call) const { return settings_.address + "/api/2.0/mlflow/" + call; }
  HttpReply get(const std::string& call) { return answered(client_.get(url(call))); }
  HttpReply post(const std::string& call, const Json& body) {
    return answered(client_.post(url(call), body.dump(-1, ' ', false, Json::error_handler_t::replace)));
  }

  std::string place() const { return "MLflow at " + settings_.shown; }

  /// Sends the next metrics. If the server refuses their number, later calls send fewer at a time.
  void log_some_metrics(const std::string& id, const Json& metrics) {
    const std::size_t count = std::min(most_metrics_, metrics.size() - num_logged_);
    const auto first = metrics.begin() + static_cast<std::ptrdiff_t>(num_logged_);
    Json some = Json::array();
    some.insert(some.end(), first, first + static_cast<std::ptrdiff_t>(count));
    const HttpReply reply = post(
        "runs/log-batch",
        {{"run_id", id}, {"metrics", std::move(some)}, {"params", Json::array()}, {"tags", Json::array()}});
    if ((reply.status == kBadRequest || reply.status == kTooLarge) && count > 1) {
      most_metrics_ = count / 2;
      return;
    }
    changed_run(reply, id);
    num_logged_ += count;
  }

  void change_run(const std::string& call, const std::string& id, const Json& body) {
    changed_run(post(call, body), id);
  }

  void changed_run(const HttpReply& reply, const std::string& id) {
    if (reply.status == kNotFound) fail_not_found(reply, "run " + id, "MLFLOW_RUN_ID");
    accepted(reply);
  }

  /// Fails. A request that is refused now, but has worked before, may work again, e.g. after a proxy's
  /// restart.
  [[noreturn]] void refuse(long status, const std::string& problem) const {
    const bool may_pass =
        status < kBadRequest || status == kUnauthorized || status == kForbidden || status == kNotFound;
    if (worked_ && may_pass) throw SinkAway(problem, SinkAway::Span::kLong);
    throw UserError(problem);
  }

  /// Returns the reply. @throws SinkAway if there is none, or the server asks to wait
  HttpReply answered(HttpReply reply) const {
    if (!reply.problem.empty()) throw SinkAway(place() + ": " + reply.problem);
    const bool later = reply.status == kRequestTimeout || reply.status == kTooManyRequests;
    if (later || reply.status >= kServerError) {
      throw SinkAway(fmt::format("{}: HTTP {}{}", place(), reply.status, quoted(reply)));
    }
    return reply;
  }

  Json accepted(const HttpReply& reply) {
    if (reply.status == kUnauthorized || reply.status == kForbidden) {
      refuse(reply.status,
             fmt::format("{}: HTTP {}: check MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and "
                         "MLFLOW_TRACKING_PASSWORD",
                         place(), reply.status));
    }
    if (reply.status == kNotFound) {
      refuse(reply.status, place() + ": HTTP 404: is no tracking server, check MLFLOW_TRACKING_URI");
    }
    if (reply.status != kOk) {
      refuse(reply.status, fmt::format("{}: HTTP {}{}", place(), reply.status, quoted(reply)));
    }
    Json body = Json::parse(reply.body.empty() ? "{}" : shallow_json(reply.body), nullptr, false);
    if (body.is_object()) {
      worked_ = true;
      return body;
    }
    refuse(reply.status,
           place() + ": answers with no JSON: is no tracking server, check MLFLOW_TRACKING_URI");
  }

  [[noreturn]] void fail_not_found(const HttpReply& reply, const std::string& what,
                                   const char* variable) const {
    refuse(kNotFound, fmt::format("{}: HTTP 404 for {}: check {} and MLFLOW_TRACKING_URI{}", place(), what,
                                  variable, quoted(reply)));
  }

  std::string text_at(const Json& body, const char* pointer) const {
    const Json::json_pointer place_of(pointer);
    if (body.contains(place_of) && body[place_of].is_string()) return body[place_of];
    throw UserError(fmt::format("{}: expected an answer with {}, got {}", place(), pointer,
                                body.dump().substr(0, kMostQuoted)));
  }

  std::string experiment_of(const NewMlflowRun& run) {
    if (!run.experiment_id.empty()) return run.experiment_id;
    if (run.experiment_name.empty()) return "0";
    const std::string by_name =
        "experiments/get-by-name?experiment_name=" + client_.escaped(run.experiment_name);
    HttpReply reply = get(by_name);
    if (reply.status == kNotFound) {
      const HttpReply created = post("experiments/create", {{"name", run.experiment_name}});
      if (created.status != kBadRequest) return text_at(accepted(created), "/experiment_id");
      reply = get(by_name);  // another job of an array may have been faster
      if (reply.status == kNotFound) accepted(created);
    }
    return text_at(accepted(reply), "/experiment/experiment_id");
  }

  std::string find_created(const std::string& experiment) {
    const std::string filter = fmt::format("tags.`{}` = '{}'", kKeyTag, key_);
    const Json found = accepted(
        post("runs/search", {{"experiment_ids", {experiment}}, {"filter", filter}, {"max_results", 1}}));
    const Json::json_pointer id("/runs/0/info/run_id");
    return found.contains(id) ? text_at(found, "/runs/0/info/run_id") : "";
  }

  MlflowSettings settings_;
  HttpClient client_;
  std::string key_;
  bool tried_to_create_ = false;
  bool worked_ = false;         // a request has worked
  std::size_t num_logged_ = 0;  // number of metrics of these entries that were taken
  std::size_t most_metrics_ = kMostMetrics;
};

}  // namespace

std::int64_t mlflow_time_ms(double unix_s) {
  return std::llround(unix_s * 1000);
}

std::unique_ptr<MlflowServer> make_mlflow_server(const MlflowSettings& settings,
                                                 std::shared_ptr<const LastMoment> last_moment) {
  return std::make_unique<RestServer>(settings, std::move(last_moment));
}

}  // namespace skyline::report
