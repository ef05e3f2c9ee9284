#include "app/commands/time_estimate.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/search/candidate_pool.hpp"

#include "comm/environment.hpp"
#include "core/backoff.hpp"
#include "core/text/wording.hpp"
#include "evaluate/job_ranks.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

constexpr double kTrained_s = 1;           // least time of training for an architecture, without waits
constexpr double kWatched_s = 4;           // longest time of training, waits included
constexpr double kBetweenLooks_s = 0.01;   // a look at the waits takes as long as a short step
constexpr std::size_t kFewestSteps = 3;    // the trial may have fewer
constexpr std::size_t kSampled = 101;      // number of architectures
constexpr double kLongestSampling_s = 5;   // limit for spaces in which few architectures meet the constraints
constexpr std::size_t kMostScored = 2000;  // number of samples

using Instant = std::chrono::steady_clock::time_point;

/// For how long this thread has run, and has waited for a processor.
struct ProcessorTime {
  double ran_s = 0;
  double waited_s = 0;

  /// All 0 where the kernel does not tell.
  static ProcessorTime now() {
    ProcessorTime time;
    std::ifstream("/proc/thread-self/schedstat") >> time.ran_s >> time.waited_s;
    return {1e-9 * time.ran_s, 1e-9 * time.waited_s};
  }
  /// Returns the share of the time since `begun` for which this thread waited.
  double waited_share(const ProcessorTime& begun) const {
    const double waited = waited_s - begun.waited_s;
    return waited > 0 ? waited / (waited + ran_s - begun.ran_s) : 0;
  }
};

/// Lets a trial begin, and notes when it has finished which part of its epochs.
class WatchedTrial final : public trial::EvaluationContext,
                           public trial::TrialControl,
                           public trial::TrialState,
                           public trial::TrialWeights {
 public:
  trial::TrialControl& control() override { return *this; }
  trial::TrialState& state() override { return *this; }
  trial::TrialWeights& weights() override { return *this; }
  trial::TrialGroup* group() override { return nullptr; }
  trial::TrialTiming& timing() override { return timing_; }
  bool stop_requested() const override {
    return steps_ > kFewestSteps && (seconds_ > kTrained_s || seconds_since(first_step_) > kWatched_s);
  }
  /// Notes after each step how far the training is and how long it took since the first step, without waits
  /// for a processor. Returns false, because nothing is saved.
  bool due(double epochs_done) override {
    if (steps_++ == 0) {
      first_step_ = std::chrono::steady_clock::now();
      first_waited_s_ = ProcessorTime::now().waited_s;
      first_epochs_ = epochs_done;
    }
    const double wall_s = seconds_since(first_step_);
    if (wall_s >= next_look_s_) {
      waited_s_ = ProcessorTime::now().waited_s - first_waited_s_;
      next_look_s_ = wall_s + kBetweenLooks_s;
    }
    epochs_ = epochs_done - first_epochs_;
    seconds_ = wall_s - waited_s_;
    return false;
  }

  /// Returns the time of an epoch without the first step, which also prepares the others; nullopt if there
  /// was no other step.
  std::optional<double> epoch_s() const {
    return epochs_ > 0 ? std::optional(seconds_ / epochs_) : std::nullopt;
  }

 private:
  trial::TrialTiming timing_;
  std::size_t steps_ = 0;
  Instant first_step_;
  double first_waited_s_ = 0;
  double waited_s_ = 0;  // since the first step
  double next_look_s_ = 0;
  double first_epochs_ = 0;
  double epochs_ = 0;
  double seconds_ = 0;
};

class TimeEstimate {
 public:
  explicit TimeEstimate(const RunConfig& config)
      : config_(config), job_(comm::make_local_environment()), trials_(sampled()) {
    evaluate::EvaluatorServices services = config.services();
    evaluate::JobRanks ranks(*job_);
    services.ranks = &ranks;
    services.place = evaluate::place_of(*job_);
    store::SplitIndices& split = services.split;
    scored_share_ = thin_out(split.scored.empty() ? split.validation : split.scored);
    evaluator_ = config.make_evaluator(services);
    std::ranges::stable_sort(trials_, {}, [&](const auto& one) { return evaluator_->predicted_cost(one); });
  }

  std::string text(std::optional<std::size_t> slots);
  TrialTime mean_time();

 private:
  std::vector<trial::Trial> sampled() const;
  static double thin_out(std::vector<std::int64_t>& indices);
  TrialTime measure(trial::Trial trial);
  double mean_s(const std::vector<std::pair<double, double>>& points) const;
  std::array<std::pair<const char*, std::size_t>, 3> measured() const;
  std::size_t slots_here() const;
  double waited_share() const { return ProcessorTime::now().waited_share(begun_); }

  const RunConfig& config_;
  std::unique_ptr<comm::Environment> job_;
  std::vector<trial::Trial> trials_;  // random trials, the cheapest first
  std::unique_ptr<trial::Evaluator> evaluator_;
  double scored_share_ = 1;
  ProcessorTime begun_ = ProcessorTime::now();
};

std::vector<trial::Trial> TimeEstimate::sampled() const {
  search::CandidatePool pool(config_.space, config_.objectives);
  RandomStream random(derive_seed(config_.sections.run.seed, "app.time_estimate"));
  const Instant start = std::chrono::steady_clock::now();
  std::vector<trial::Trial> trials;
  while (trials.size() < kSampled && (trials.empty() || seconds_since(start) < kLongestSampling_s)) {
    const search::ArchitecturePointer drawn = pool.draw(random);
    if (drawn == nullptr) break;
    pool.unmark_proposed(drawn->id);  // may be drawn again
    trial::Trial& trial = trials.emplace_back();
    trial.proposal.architecture = drawn;
    trial.proposal.budget.epochs = config_.evaluator.needs.epochs;
  }
  return trials;
}

/// Keeps an evenly spread part of the indices. Returns its share.
double TimeEstimate::thin_out(std::vector<std::int64_t>& indices) {
  const std::size_t all = indices.size();
  if (all <= kMostScored) return 1;
  for (std::size_t i = 0; i < kMostScored; ++i) indices[i] = indices[i * all / kMostScored];
  indices.resize(kMostScored);
  return static_cast<double>(kMostScored) / static_cast<double>(all);
}

/// Measures two trials: one of a single step, which ends with its measurements, and one of a second. Waits
/// for a processor do not count.
TrialTime TimeEstimate::measure(trial::Trial trial) {
  const double epochs = trial.budget().epochs;
  const auto run = [&](WatchedTrial& watch, double budget) {
    trial.proposal.budget.epochs = budget;
    const trial::Outcome outcome = evaluator_->evaluate(trial, watch);
    const auto* failure = std::get_if<trial::Failure>(&outcome);
    if (failure == nullptr || failure->kind == trial::FailureKind::kStopped) return;
    if (failure->kind == trial::FailureKind::kDiverged) return;  // its time is known all the same
    throw UserError("--time: " + config_.space.describe(trial.architecture().genotype) + ": " +
                    failure->reason);
  };
  const auto run_share = [&](WatchedTrial& watch, double budget) {
    const ProcessorTime begun = ProcessorTime::now();
    run(watch, budget);
    return 1 - ProcessorTime::now().waited_share(begun);
  };
  WatchedTrial first;
  const double ran_first = run_share(first, std::min(epochs, 1e-9));
  WatchedTrial second;
  const double ran_second = run_share(second, epochs);
  const trial::TrialTiming& timing = first.timing();
  return {second.epoch_s().value_or(ran_second * second.timing().train_s / epochs),
          ran_first * (timing.setup_s + timing.validate_s / scored_share_ + timing.latency_s)};
}

/// Returns the mean time of the sampled trials, interpolated by predicted cost between the measured ones.
/// @param points  costs, ascending, and seconds
double TimeEstimate::mean_s(const std::vector<std::pair<double, double>>& points) const {
  double sum = 0;
  for (const trial::Trial& trial : trials_) {
    const double cost = evaluator_->predicted_cost(trial);
    std::size_t next = 1;
    while (next + 1 < points.size() && points[next].first < cost) ++next;
    const auto& [low, low_s] = points[next - 1];
    const auto& [high, high_s] = points[next];
    sum += high > low ? low_s + (high_s - low_s) * (cost - low) / (high - low) : low_s;
  }
  return sum / static_cast<double>(trials_.size());
}

/// Returns the number of trials that can run at a time without sharing processors or a device.
std::size_t TimeEstimate::slots_here() const {
  if (evaluator_->slots() > 0) return 1;  // there is a GPU
  const auto threads = static_cast<std::size_t>(config_.evaluator.needs.threads);
  return std::max<std::size_t>(1, job_->place().processors.size() / threads);
}

std::string seconds_or_longer(double seconds) {
  return seconds < 60 ? report::significant_text(seconds, 2) + " s" : report::duration_text(seconds);
}

/// Returns the places of trials that are measured, the cheapest first, and what they are called.
std::array<std::pair<const char*, std::size_t>, 3> TimeEstimate::measured() const {
  return {{{"smallest", 0}, {"median", trials_.size() / 2}, {"largest", trials_.size() - 1}}};
}

TrialTime TimeEstimate::mean_time() {
  std::vector<std::pair<double, double>> epochs;
  std::vector<std::pair<double, double>> rests;
  for (const auto& [name, index] : measured()) {
    const TrialTime time = measure(trials_[index]);
    const double cost = evaluator_->predicted_cost(trials_[index]);
    epochs.emplace_back(cost, time.epoch_s);
    rests.emplace_back(cost, time.rest_s);
  }
  return {mean_s(epochs), mean_s(rests), waited_share()};
}

std::string TimeEstimate::text(std::optional<std::size_t> slots) {
  const std::string front = "# time: ";
  const double epochs = config_.evaluator.needs.epochs;
  const std::string budget = objective::number_text(epochs) + (epochs == 1 ? " epoch" : " epochs");
  std::string text;
  std::vector<std::pair<double, double>> points;
  double median_epoch_s = 0;
  for (const auto& [name, index] : measured()) {
    const TrialTime time = measure(trials_[index]);
    const double total_s = epochs * time.epoch_s + time.rest_s;
    if (index == trials_.size() / 2) median_epoch_s = time.epoch_s;
    points.emplace_back(evaluator_->predicted_cost(trials_[index]), total_s);
    text += front + "the " + name + " of " + counted(trials_.size(), "random architecture") + ": " +
            seconds_or_longer(time.epoch_s) + " an epoch, " + seconds_or_longer(total_s) + " a trial of " +
            budget + "\n";
  }
  const auto searcher = config_.make_searcher();
  const std::size_t trials = searcher->expected_trials();
  const std::vector<trial::Proposal> first = searcher->ask(1).proposals;
  const bool begin_short = !first.empty() && first.front().horizon.epochs > first.front().budget.epochs;
  const double mean = mean_s(points);
  const double all_s = mean * static_cast<double>(trials);
  const std::size_t most = slots.value_or(slots_here());
  text += front + "the search, at most " + counted(trials, "trial") +
          (begin_short ? ", most of which take a part of " : " of ") + seconds_or_longer(mean) +
          " on average: " + (begin_short ? "below " : "") + seconds_or_longer(all_s) + " with 1 slot";
  if (most > 1) {
    text += ", " + seconds_or_longer(all_s / static_cast<double>(most)) + " with " + counted(most, "slot") +
            " at best";
  }
  text += "\n";
  if (const auto full = config_.final_budget()) {
    text += front + "a full training of the median: " + seconds_or_longer(full->epochs * median_epoch_s);
    const std::uint32_t repeats = config_.sections.final_training->repeats;
    text += (repeats > 1 ? ", and each member of the front has " + std::to_string(repeats) : "");
    text += config_.sections.final_training->refit ? "; those of the final front are then trained once more\n"
                                                   : "\n";
  }
  if (const std::string busy = busy_text(waited_share()); !busy.empty()) text += front + busy + "\n";
  return text;
}

}  // namespace

std::string busy_text(double waited_share) {
  constexpr double kBusy = 0.25;
  if (waited_share < kBusy) return {};
  return "measured on a busy machine: it waited for a processor for " +
         std::to_string(std::lround(100 * waited_share)) + " % of the time, which does not count here";
}

TrialTime mean_trial_time(const RunConfig& config) {
  return TimeEstimate(config).mean_time();
}

std::string time_text(const RunConfig& config, std::optional<std::size_t> slots) {
  if (!config.evaluator.needs.data) {
    throw UserError("--time: nothing is trained by the evaluator `" + config.evaluator.kind->name + "`");
  }
  return TimeEstimate(config).text(slots);
}

}  // namespace skyline::app
