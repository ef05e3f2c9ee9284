#include "report/text/status_file.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "store/publish/block_reader.hpp"
#include "store/publish/publish.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace skyline::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStatusFormat = 3;
constexpr double kMostAmount = 1e15;  // largest value of anything that is counted, or measured in seconds

/// @throws Json::exception, std::out_of_range
double amount_of(const Json& json) {
  const auto value = json.get<double>();
  if (!(value >= 0 && value <= kMostAmount)) throw std::out_of_range("the number " + json.dump());
  return value;
}

std::size_t count_of(const Json& json) {
  return static_cast<std::size_t>(amount_of(json));
}

/// Returns nullopt for a status that a job wrote while it was running.
/// @throws Json::exception, std::out_of_range
std::optional<JobEnding> ending_of(const Json& status) {
  if (status.at("exit_code").is_null()) return std::nullopt;
  const auto number = [&](const char* key) { return static_cast<int>(amount_of(status.at(key))); };
  return JobEnding{status.at("job"), number("restart"), number("exit_code"),
                   status.value("out_of_time", false), status.value("progress", true)};
}

std::string state_after(int exit_code) {
  if (exit_code == kExitStopped) return "stopped";
  return exit_code == kExitDone || exit_code == kExitNoFront ? "finished" : "failed";
}

void write_end(const store::RunPaths& paths, const JobEnding& ending) {
  RunStatus status = read_status(paths).value_or(RunStatus());
  status.state = state_after(ending.exit_code);
  status.in_flight = status.waiting = 0;
  status.eta_s.reset();
  status.updated = unix_now_s();
  status.ending = ending;
  store::publish_file(paths.status_json(), status.to_json());
}

}  // namespace

std::optional<RunStatus> read_status(const store::RunPaths& paths) {
  try {
    if (!store::exists(paths.status_json())) return std::nullopt;
    return RunStatus::parse(store::read_run_file(paths.status_json()), paths.status_json().string());
  } catch (const UserError& problem) {
    log::warning(fmt::format("{}; it is left out", problem.what()));
    return std::nullopt;
  }
}

StatusFile::StatusFile(std::filesystem::path path) : path_(std::move(path)), thread_(2) {}

bool StatusFile::offer(const RunStatus& status) {
  if (busy_) return false;
  publish(status);
  return true;
}

std::future<void> StatusFile::publish(const RunStatus& status) {
  busy_ = true;
  const auto done = std::make_shared<std::promise<void>>();
  thread_.post([this, done, text = status.to_json()] {
    try {
      store::publish_file(path_, text);
    } catch (const Problem& problem) {
      if (!std::exchange(warned_, true)) {
        log::warning(fmt::format("{}; the run goes on, its status is out of date", problem.what()));
      }
    }
    busy_ = false;
    done->set_value();
  });
  return done->get_future();
}

/// A thread that hangs on a dead disk is abandoned.
void publish_end(const store::RunPaths& paths, const JobEnding& ending, std::chrono::milliseconds patience,
                 std::function<bool()> may_write) {
  std::packaged_task<void()> write([paths, ending, may_write = std::move(may_write)] {
    if (!may_write || may_write()) write_end(paths, ending);
  });
  std::future<void> written = write.get_future();
  std::thread(std::move(write)).detach();
  std::string problem = "the file system does not answer";
  try {
    if (written.wait_for(patience) == std::future_status::ready) return written.get();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  log::warning(fmt::format("{} does not say how this job ended: {}", paths.status_json().string(), problem));
}

std::string RunStatus::in_flight_text() const {
  if (in_flight == 0) return choosing ? "choosing the next trial" : "";
  return std::to_string(in_flight) + " in flight" +
         (waiting > 0 ? ", " + std::to_string(waiting) + " of them done" : "");
}

std::string RunStatus::to_json() const {
  Json best_values = Json::object();
  for (const BestValue& each : best) best_values[each.metric] = each.value;
  Json json{{"format", kStatusFormat},  {"state", state},
            {"phase", phase},           {"done", done},
            {"expected", expected},     {"committed", committed},
            {"in_flight", in_flight},   {"waiting", waiting},
            {"failed", failed},         {"front", front},
            {"best", best_values},      {"replayed", replayed},
            {"slots", slots},           {"ranks", ranks},
            {"nodes", nodes},           {"elapsed_s", elapsed_s},
            {"updated", updated},       {"eta_s", eta_s ? Json(*eta_s) : Json(nullptr)},
            {"choosing", choosing},     {"recent", recent},
            {"remark", search_summary}, {"exit_code", nullptr},
            {"job", nullptr},           {"restart", nullptr},
            {"out_of_time", nullptr},   {"progress", nullptr}};
  if (pruned > 0) json["pruned"] = pruned;
  if (outside > 0) json["outside"] = outside;
  if (ending) {
    json["exit_code"] = ending->exit_code;
    json["job"] = ending->job;
    json["restart"] = ending->restart;
    json["out_of_time"] = ending->out_of_time;
    json["progress"] = ending->progress;
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

RunStatus RunStatus::parse(const std::string& text, const std::string& file) {
  try {
    const Json json = Json::parse(shallow_json(text));
    RunStatus status;
    if (json.at("format") != kStatusFormat) throw std::out_of_range("format " + json.at("format").dump());
    status.state = json.at("state");
    status.phase = json.at("phase");
    status.done = count_of(json.at("done"));
    status.expected = count_of(json.at("expected"));
    status.committed = count_of(json.at("committed"));
    status.in_flight = count_of(json.at("in_flight"));
    if (json.contains("waiting")) status.waiting = count_of(json["waiting"]);  // not in earlier versions
    status.choosing = json.value("choosing", false);                           // not in earlier versions
    status.failed = count_of(json.at("failed"));
    if (json.contains("pruned")) status.pruned = count_of(json["pruned"]);
    if (json.contains("outside")) status.outside = count_of(json["outside"]);
    status.front = count_of(json.at("front"));
    for (const auto& [metric, value] : json.at("best").items()) {
      if (!value.is_null()) status.best.push_back({metric, value});  // JSON has no infinity
    }
    status.replayed = count_of(json.at("replayed"));
    status.slots = count_of(json.at("slots"));
    status.ranks = count_of(json.at("ranks"));
    status.nodes = count_of(json.at("nodes"));
    status.elapsed_s = amount_of(json.at("elapsed_s"));
    if (!json.at("eta_s").is_null()) status.eta_s = amount_of(json.at("eta_s"));
    status.updated = amount_of(json.at("updated"));
    status.ending = ending_of(json);
    status.recent = json.at("recent").get<std::vector<std::string>>();
    status.search_summary = json.value("remark", "");  // files of earlier versions have none
    return status;
  } catch (const Json::exception&) {
    throw UserError(file + ": expected the status of a run, got another text");
  } catch (const std::out_of_range& problem) {
    throw UserError(file + ": expected the status of a run, got " + problem.what());
  }
}

}  // namespace skyline::report
