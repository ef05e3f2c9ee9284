
#include "report/files/trace_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace skyline::report {
namespace {

using trial::TrialTiming;

struct TracePart {
  std::string_view name;
  double TrialTiming::*seconds;
};
constexpr std::array kTraceParts{TracePart{"waiting for files", &TrialTiming::wait_files_s},
                                 TracePart{"set-up", &TrialTiming::setup_s},
                                 TracePart{"waiting for ranks", &TrialTiming::wait_ranks_s},
                                 TracePart{"training", &TrialTiming::train_s},
                                 TracePart{"validation", &TrialTiming::validate_s},
                                 TracePart{"latency", &TrialTiming::latency_s}};

/// The parts of a trial that the trace shows.
struct TracedTrial {
  trial::TrialName name;
  bool failed = false;
  TrialTiming timing;
};

std::int64_t microseconds(double seconds) {
  return std::llround(1e6 * seconds);
}

/// The growing list of events.
class TraceText {
 public:
  /// @param phase  type of event in the format: "X" for a slice, "M" for a name
  void add(const TrialTiming& place, std::string_view phase, std::string_view name, std::string_view rest) {
    fmt::format_to(std::back_inserter(text_),
                   "{}\n{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"name\":\"{}\",{}}}", text_.empty() ? "" : ",",
                   phase, place.rank, place.slot, name, rest);
  }
  void add_slice(const TrialTiming& place, std::string_view name, std::int64_t start_us,
                 std::int64_t end_us) {
    add(place, "X", name, fmt::format("\"ts\":{},\"dur\":{}", start_us, end_us - start_us));
  }
  std::string text() const { return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + text_ + "\n]}\n"; }

 private:
  std::string text_;
};

/// Returns the trials ordered by rank, slot and time.
std::vector<TracedTrial> traced_trials(const run::RunState& state) {
  std::vector<TracedTrial> trials;
  trials.reserve(state.trials().size());
  for (const run::SharedTrial& each : state.trials()) {
    trials.push_back(
        {each->trial.name(), std::holds_alternative<trial::Failure>(each->outcome), each->timing});
  }
  std::ranges::sort(trials, {}, [](const TracedTrial& each) {
    return std::tuple(each.timing.rank, each.timing.slot, each.timing.started_s);
  });
  return trials;
}

void add_names(TraceText& trace, const run::RunAccount& account, std::span<const TracedTrial> trials) {
  std::map<int, std::string> hosts;  // hosts in the last job
  for (const run::SlotAccount& slot : account.slots) hosts[slot.rank] = slot.host;
  const auto is_another_place = [](const TracedTrial& left, const TracedTrial& right) {
    return left.timing.rank != right.timing.rank || left.timing.slot != right.timing.slot;
  };
  const auto name_argument = [](const std::string& name) {
    return "\"args\":" + nlohmann::json{{"name", name}}.dump();
  };
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (i > 0 && !is_another_place(trials[i - 1], trials[i])) continue;
    const TrialTiming& place = trials[i].timing;
    const std::string host = hosts.contains(place.rank) ? " " + hosts.at(place.rank) : "";
    trace.add(place, "M", "process_name", name_argument(fmt::format("rank {}{}", place.rank, host)));
    trace.add(place, "M", "thread_name", name_argument(fmt::format("slot {}", place.slot)));
  }
}

/// Adds a slice with its parts below it.
/// @param trials  consecutive trials of a slot
void add_trials(TraceText& trace, std::span<const TracedTrial> trials) {
  const TracedTrial& first = trials.front();
  const TrialTiming& last = trials.back().timing;
  const std::string name = trials.size() > 1
                               ? fmt::format("{} trials", trials.size())
                               : "trial " + trial::to_text(first.name) + (first.failed ? " failed" : "");
  const std::int64_t end_us = microseconds(last.started_s + last.total_s());
  std::int64_t start_us = microseconds(first.timing.started_s);
  trace.add_slice(first.timing, name, start_us, end_us);
  for (const TracePart& part : kTraceParts) {
    double seconds = 0;
    for (const TracedTrial& each : trials) seconds += each.timing.*part.seconds;
    const std::int64_t part_end_us = std::min(end_us, start_us + microseconds(seconds));
    if (part_end_us <= start_us) continue;
    trace.add_slice(first.timing, part.name, start_us, part_end_us);
    start_us = part_end_us;
  }
}

}  // namespace

std::string trace_json(const run::RunState& state, const run::RunAccount& account, std::size_t most_trials) {
  const std::vector<TracedTrial> all = traced_trials(state);
  const std::size_t together = std::max<std::size_t>(1, (all.size() + most_trials - 1) / most_trials);
  TraceText trace;
  add_names(trace, account, all);
  for (std::span<const TracedTrial> rest(all); !rest.empty();) {
    const TrialTiming& place = rest.front().timing;
    std::size_t count = 1;
    while (count < std::min(together, rest.size()) && rest[count].timing.rank == place.rank &&
           rest[count].timing.slot == place.slot) {
      ++count;
    }
    add_trials(trace, rest.first(count));
    rest = rest.subspan(count);
  }
  return trace.text();
}

}  // namespace skyline::report
