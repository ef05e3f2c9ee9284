#include "report/text/status.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "report/files/trial_results.hpp"
#include "report/text/progress.hpp"
#include "report/text/text_table.hpp"
#include "store/journal/journal.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/running_trials.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

constexpr std::size_t kMostShown = 8;    // slots that are listed
constexpr std::size_t kBeforeText = 12;  // columns of the name of a row

bool is_active(const std::optional<store::RunOwner>& owner) {
  return owner && owner->active;
}

std::string state_text(const std::optional<RunStatus>& status, const std::optional<store::RunOwner>& owner) {
  if (is_active(owner)) {
    const bool stopping = status && status->state == "stopping";
    return fmt::format("{}, process {} on host {}, heartbeat {:.0f} s ago",
                       stopping ? "stopping, running trials save their state" : "running", owner->process,
                       owner->host, owner->heartbeat_age_s);
  }
  if (status && status->state == "finished") return status->front == 0 ? "finished, no front" : "finished";
  if (status && status->state == "stopped") return "stopped; resume with --resume";
  if (status && status->ending) {
    return fmt::format("failed with exit code {}; resume with --resume", status->ending->exit_code);
  }
  return "not running; resume with --resume";
}

std::string row(const std::string& name, const std::string& text) {
  return fmt::format("  {:<10}{}\n", name, printable(text));
}

/// Returns a line that has room beside the name of a row.
std::string fitted(const std::string& line, std::size_t columns) {
  constexpr std::size_t kLeast = 20;
  const std::size_t most = std::max(columns, kBeforeText + kLeast) - kBeforeText;
  return characters_in(line) <= most ? line : cut_to_columns(line, most - 3) + "...";
}

std::string trials_text(const RunStatus& status, std::size_t in_journal, bool active) {
  std::string text = fmt::format("{}: {} of at most {}", status.phase, status.done, status.expected);
  if (const std::string under_way = status.in_flight_text(); active && !under_way.empty())
    text += " · " + under_way;
  if (status.failed > 0) text += fmt::format(" · {} failed", status.failed);
  if (status.pruned > 0) text += fmt::format(" · {} pruned", status.pruned);
  if (status.outside > 0) text += fmt::format(" · {} outside", status.outside);
  text += fmt::format(" · {} in the journal", in_journal);
  if (status.replayed > 0) text += fmt::format(" ({} of earlier jobs)", status.replayed);
  return text;
}

std::string best_text(const std::vector<BestValue>& best, const std::vector<trial::Metric>& metrics) {
  std::string text;
  for (const BestValue& each : best) {
    if (!text.empty()) text += " · ";
    text += each.metric + " " + metric_text(described(each.metric, metrics), each.value);
  }
  return text;
}

struct BusySlot {
  int rank = 0;
  store::LeftTrials::Row now;
};

/// Returns the busy slots of the running job, by rank and slot.
std::vector<BusySlot> busy_slots(const store::RunPaths& paths) {
  std::vector<BusySlot> slots;
  for (const store::LeftTrials& left : store::read_running_trials(paths)) {
    for (const store::LeftTrials::Row& row : left.rows) slots.push_back({left.rank, row});
  }
  return slots;
}

std::string training_text(const store::RunPaths& paths) {
  const std::vector<BusySlot> slots = busy_slots(paths);
  std::string text;
  for (std::size_t i = 0; i < std::min(slots.size(), kMostShown); ++i) {
    const auto& [rank, now] = slots[i];
    text +=
        row(i == 0 ? "training" : "",
            fmt::format("rank {} slot {}: trial {}, for {}{}, {}", rank, now.slot, to_text(now.trial),
                        duration_text(unix_now_s() - now.begun),
                        now.overdue ? ", longer than run.trial_timeout and does not stop" : "", now.text));
  }
  if (slots.size() > kMostShown) text += row("", fmt::format("and {} more", slots.size() - kMostShown));
  return text;
}

/// Returns the pace of this job; empty if it is not yet known.
std::string pace_text(const RunStatus& status) {
  const double trials = static_cast<double>(status.committed) - static_cast<double>(status.replayed);
  if (trials <= 0 || status.elapsed_s <= 0) return {};
  return fmt::format(" · {} trials/min", significant_text(60 * trials / status.elapsed_s, 3));
}

std::string time_text(const RunStatus& status, bool active) {
  std::string text = duration_text(status.elapsed_s) + " elapsed" + pace_text(status);
  if (active && status.eta_s) text += " · ETA " + duration_text(*status.eta_s);
  return text;
}

std::string details(const store::RunPaths& paths, const RunStatus& status, std::size_t in_journal,
                    bool active, std::size_t columns) {
  std::string text = row("trials", trials_text(status, in_journal, active));
  text += row("front", counted(status.front, "trial"));
  if (!status.best.empty()) {
    text += row("best", best_text(status.best, store::read_journal_header(paths.journal()).metrics));
  }
  if (!status.search_summary.empty()) text += row("search", status.search_summary);
  text += row("time", time_text(status, active));
  text += row("slots", fmt::format("{} in {} on {}", status.slots, counted(status.ranks, "rank"),
                                   counted(status.nodes, "node")));
  for (const std::string& line : status.recent)
    text += row(&line == &status.recent.front() ? "last" : "", fitted(printable(line), columns));
  return text;
}

void check_run_folder(const store::RunPaths& paths) {
  if (store::exists(paths.journal())) return;
  throw UserError(paths.root.string() + ": not a run folder (no journal.jsonl)");
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

std::string status_line(const store::RunPaths& paths) {
  check_run_folder(paths);
  const std::optional<RunStatus> status = read_status(paths);
  if (!status) return status_text(paths);
  const store::JournalHeader header = store::read_journal_header(paths.journal());
  std::string line = progress_line(*status, header.metrics) + pace_text(*status);
  const std::vector<BusySlot> slots = busy_slots(paths);
  for (std::size_t i = 0; i < std::min(slots.size(), kMostShown); ++i) {
    line += (i == 0 ? " · training trial " : ", ") + to_text(slots[i].now.trial);
  }
  return printable(line) + (slots.size() > kMostShown ? ", ...\n" : "\n");
}

std::string status_json(const store::RunPaths& paths, const std::string& front) {
  check_run_folder(paths);
  const std::optional<RunStatus> status = read_status(paths);
  const std::optional<store::RunOwner> owner = store::read_owner(paths);
  using StatusJson = nlohmann::ordered_json;
  StatusJson json{{"run", paths.root.string()},
                  {"running", is_active(owner)},
                  {"host", owner ? StatusJson(owner->host) : StatusJson(nullptr)},
                  {"process", owner ? StatusJson(owner->process) : StatusJson(nullptr)},
                  {"journal", store::count_trials(paths.journal())}};
  if (status) json.update(StatusJson::parse(status->to_json()));
  json["training"] = StatusJson::array();
  for (const auto& [rank, now] : is_active(owner) ? busy_slots(paths) : std::vector<BusySlot>()) {
    json["training"].push_back({{"rank", rank},
                                {"slot", now.slot},
                                {"trial", to_text(now.trial)},
                                {"begun", now.begun},
                                {"overdue", now.overdue},
                                {"genotype", now.text}});
  }
  json["front_trials"] = StatusJson::parse(front);
  return json.dump(-1, ' ', false, StatusJson::error_handler_t::replace) + "\n";
}

std::optional<int> last_exit_code(const store::RunPaths& paths) {
  const std::optional<RunStatus> status = read_status(paths);
  if (!status || !status->ending) return std::nullopt;
  return status->ending->exit_code;
}

std::string status_text(const store::RunPaths& paths, std::size_t columns) {
  check_run_folder(paths);
  const std::optional<store::RunOwner> owner = store::read_owner(paths);
  const std::optional<RunStatus> status = read_status(paths);
  // The journal is read last: what a job saves meanwhile, before it ends, counts as saved.
  const std::size_t in_journal = store::count_trials(paths.journal());
  std::string text = printable(fmt::format("{}: {}", paths.root.string(), state_text(status, owner))) + "\n";
  if (!status) return text + row("trials", fmt::format("{} in the journal", in_journal));
  if (!is_active(owner) && in_journal < status->committed) {
    return text +
           row("trials", fmt::format("{} in the journal, of {} committed", in_journal, status->committed));
  }
  return text + details(paths, *status, in_journal, is_active(owner), columns) +
         (is_active(owner) ? training_text(paths) : "");
}

}  // namespace skyline::report
