#include "app/job/front_latency.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "report/files/answers.hpp"
#include "report/files/trial_results.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

constexpr std::size_t kMostMembers = 60;
constexpr std::size_t kRounds = 5;
constexpr double kLongEnough_s = 20;  // after which no further round begins

std::vector<report::FrontLatency> measure(trial::Evaluator& evaluator,
                                          const std::vector<trial::Trial>& trials,
                                          const std::function<bool()>& ends) {
  std::vector<report::FrontLatency> latencies;
  for (const trial::Trial& trial : trials) latencies.push_back({trial.number, {}});
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t round = 0; round < kRounds && !ends(); ++round) {
    if (round > 0 && seconds_since(start) > kLongEnough_s) break;
    const std::vector<double> found = evaluator.latencies_ms(trials);
    if (found.empty()) return {};
    for (std::size_t i = 0; i < trials.size(); ++i) latencies[i].rounds_ms.push_back(found[i]);
  }
  if (trials.empty() || latencies.front().rounds_ms.empty()) return {};
  return latencies;
}

}  // namespace

void measure_front(trial::Evaluator& evaluator, const run::RunState& state, const store::RunPaths& paths,
                   const std::function<bool()>& ends) {
  std::vector<trial::TrialNumber> members =
      report::front_order(state.final_budget() ? state.final_front() : state.front());
  members.resize(std::min(members.size(), kMostMembers));
  try {
    const auto earlier = report::read_latencies(paths);
    const bool is_whole = !earlier.empty() && earlier.front().rounds_ms.size() == kRounds;
    if (is_whole && std::ranges::equal(earlier, members, {}, &report::FrontLatency::trial)) return;
    std::vector<trial::Trial> trials;
    for (const trial::TrialNumber number : members) trials.push_back(state.search_trial(number)->trial);
    const auto latencies = measure(evaluator, trials, ends);
    if (latencies.empty()) return;
    report::write_latencies(paths, latencies);
    log::info("measured the latency of " + counted(latencies.size(), "network") + " once more");
  } catch (const std::exception& problem) {
    log::warning(std::string("the latency of the front is not measured again: ") + problem.what());
  }
}

}  // namespace skyline::app
