#include "report/text/run_status.hpp"

#include "skyline/core/error.hpp"

#include <nlohmann/json.hpp>

namespace skyline::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStatusFormat = 1;

}  // namespace

std::string RunStatus::to_json() const {
  Json best_values = Json::object();
  for (const BestValue& each : best) best_values[each.metric] = each.value;
  const Json json{{"format", kStatusFormat}, {"state", state},
                  {"phase", phase},          {"done", done},
                  {"expected", expected},    {"committed", committed},
                  {"in_flight", in_flight},  {"failed", failed},
                  {"front", front},          {"best", best_values},
                  {"replayed", replayed},    {"slots", slots},
                  {"ranks", ranks},          {"nodes", nodes},
                  {"elapsed_s", elapsed_s},  {"eta_s", eta_s ? Json(*eta_s) : Json(nullptr)},
                  {"updated", updated},      {"recent", recent}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

RunStatus RunStatus::parse(const std::string& text, const std::string& file) {
  try {
    const Json json = Json::parse(text);
    RunStatus status;
    status.state = json.at("state");
    status.phase = json.at("phase");
    status.done = json.at("done");
    status.expected = json.at("expected");
    status.committed = json.at("committed");
    status.in_flight = json.at("in_flight");
    status.failed = json.at("failed");
    status.front = json.at("front");
    for (const auto& [metric, value] : json.at("best").items()) status.best.push_back({metric, value});
    status.replayed = json.at("replayed");
    status.slots = json.at("slots");
    status.ranks = json.at("ranks");
    status.nodes = json.at("nodes");
    status.elapsed_s = json.at("elapsed_s");
    if (!json.at("eta_s").is_null()) status.eta_s = json.at("eta_s").get<double>();
    status.updated = json.at("updated");
    status.recent = json.at("recent").get<std::vector<std::string>>();
    return status;
  } catch (const Json::exception& problem) {
    throw UserError(file + ": expected the status of a run, got " + problem.what());
  }
}

}  // namespace skyline::report
