#include "evaluate/synthetic/synthetic_evaluator.hpp"

#include "skyline/core/random.hpp"

#include "core/log.hpp"
#include "evaluate/synthetic/rugged_landscape.hpp"
#include "trial/scope_timer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <thread>

namespace skyline::evaluate {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kLongestNap{0.005};  // longest time before a stop request is seen
constexpr double kStepsPerEpoch = 1000;

/// Returns a number in [0, 1) that is always the same for the same numbers.
double hashed_share(std::string_view purpose, std::uint64_t first, std::uint64_t second = 0) {
  return RandomStream(derive_seed(first, purpose, {second})).uniform();
}

/// Uses only rational functions, because exp and log may differ in the last bit between machines.
double accuracy_without_noise(const SyntheticOptions& options, const space::Network& network, double epochs) {
  const double chance = 1.0 / static_cast<double>(std::max<std::int64_t>(network.classes, 1));
  const auto parameters = static_cast<double>(network.cost.parameters);
  const double quality = options.landscape == Landscape::kRugged
                             ? rugged_quality(network, options.landscape_seed)
                             : parameters / (parameters + 3000.0);
  const double training = epochs / (epochs + 0.02);
  return chance + (0.995 - chance) * quality * training;
}

double synthetic_accuracy(const SyntheticOptions& options, const trial::Trial& trial,
                          std::string_view purpose) {
  const auto id = static_cast<std::uint64_t>(trial.architecture().id);
  const double most = options.landscape == Landscape::kRugged ? 0.005 : 0.01;
  const double noise = most * (2 * hashed_share(purpose, trial.seed, id) - 1);
  return std::clamp(
      accuracy_without_noise(options, trial.architecture().network(), trial.budget().epochs) + noise, 0.0,
      1.0);
}

double synthetic_latency_ms(const space::Network& network) {
  return 0.002 * static_cast<double>(network.layers.size()) + static_cast<double>(network.cost.flops) / 5e7;
}

double step_count(const trial::Trial& trial) {
  return std::max(1.0, std::round(trial.budget().epochs * kStepsPerEpoch));
}

trial::Measurements measure(const SyntheticOptions& options, const trial::Trial& trial) {
  const double accuracy = synthetic_accuracy(options, trial, "evaluate.synthetic.validation");
  const double error = 1 - accuracy;
  const double test_accuracy = trial.is_final()
                                   ? synthetic_accuracy(options, trial, "evaluate.synthetic.test")
                                   : std::numeric_limits<double>::quiet_NaN();
  return {{accuracy, 3 * error, 2.5 * error, synthetic_latency_ms(trial.architecture().network()),
           test_accuracy, step_count(trial)}};
}

/// Returns the share of the work that an earlier job did.
double saved_share(const trial::Trial& trial, const trial::TrainingState* saved) {
  if (saved == nullptr) return 0;
  const double share = static_cast<double>(saved->step) / step_count(trial);
  if (share >= 0 && share <= 1) return share;
  log::warning("trial " + std::to_string(trial.number) + ": its checkpoint is of step " +
               std::to_string(saved->step) + ", which it does not have; it starts again");
  return 0;
}

/// Returns whether the whole time passed without a stop request.
bool sleep_through(Seconds duration, const trial::Trial& trial, trial::EvaluationContext& context) {
  const auto save = [&](double share) {
    context.state().save([&](trial::TrainingState& state) {
      state.step = static_cast<std::int64_t>(share * step_count(trial));
    });
  };
  const Seconds before = duration * saved_share(trial, context.state().saved());
  const Clock::time_point start = Clock::now();
  for (Seconds passed = before; passed < duration; passed = before + (Clock::now() - start)) {
    const double share = passed / duration;
    const bool stop = context.control().stop_requested();
    if (stop || context.state().due(share * trial.budget().epochs)) save(share);
    if (stop) return false;
    std::this_thread::sleep_for(std::min(kLongestNap, duration - passed));
  }
  if (!context.control().stop_requested()) {
    if (trial.may_be_continued()) {
      context.state().save_last(
          [&](trial::TrainingState& state) { state.step = static_cast<std::int64_t>(step_count(trial)); });
    }
    return true;
  }
  if (duration > Seconds::zero()) save(1);  // the request came in the last nap
  return false;
}

/// Leaves a key with its default out of configurations, so that older runs, which lack it, are the same runs.
template <typename M>
OptionKind<M> unless_default(OptionKind<M> kind) {
  kind.write = [write = kind.write](const M& value) { return value == M{} ? ConfigNode() : write(value); };
  return kind;
}

std::vector<trial::Metric> metrics() {
  using Metric = trial::Metric;
  using trial::Better;
  return {{.name = "validation_accuracy", .range = {0, 1}, .of = Metric::Of::kValidation},
          {.name = "validation_loss", .better = Better::kLower, .of = Metric::Of::kValidation, .ideal = 0},
          {.name = "train_loss", .better = Better::kLower, .of = Metric::Of::kTrain, .ideal = 0},
          {.name = "latency_ms", .better = Better::kLower, .range = {.low = 0}, .unit = "ms"},
          {.name = "test_accuracy",
           .range = {0, 1},
           .when = Metric::When::kFullTraining,
           .of = Metric::Of::kTest,
           .repeats = "validation_accuracy"},
          {.name = "steps", .better = Better::kLower, .range = {.low = 0}}};
}

class SyntheticEvaluator final : public trial::Evaluator {
 public:
  explicit SyntheticEvaluator(const SyntheticOptions& options) : options_(options) {}

  double predicted_cost(const trial::Trial& trial) const override { return forward_work(trial); }

  trial::Outcome evaluate(const trial::Trial& trial, trial::EvaluationContext& context) override {
    const auto flops = static_cast<double>(trial.architecture().cost.flops);
    const Seconds duration(options_.seconds_per_gflop * flops / 1e9 * trial.budget().epochs *
                           lognormal(trial.seed, "evaluate.synthetic.time", 0, options_.forecast_error));
    const auto completes = [&] {
      const trial::ScopeTimer timer(context.timing(), &trial::TrialTiming::train_s);
      return sleep_through(duration, trial, context);
    };
    if (!completes()) return trial::Failure{trial::FailureKind::kStopped, "stopped on request"};

    const auto id = static_cast<std::uint64_t>(trial.architecture().id);
    if (hashed_share("evaluate.synthetic.failure", id) < options_.failure_rate) {
      return trial::Failure{trial::FailureKind::kDiverged,
                            "this architecture is of the synthetic share that fails"};
    }
    const trial::ScopeTimer timer(context.timing(), &trial::TrialTiming::validate_s);
    return measure(options_, trial);
  }

 private:
  SyntheticOptions options_;
};

}  // namespace

const OptionTable<SyntheticOptions>& SyntheticOptions::table() {
  static const OptionTable<SyntheticOptions> table{
      {"seconds_per_gflop", &SyntheticOptions::seconds_per_gflop, at_least(0),
       "Seconds that a trial sleeps for each 10^9 FLOPs of its network and epoch."},
      {"failure_rate", &SyntheticOptions::failure_rate, at_least(0).at_most(1),
       "Share of the architectures whose trials fail, always the same ones."},
      {"forecast_error", &SyntheticOptions::forecast_error, at_least(0).at_most(10),
       "How far times are from their forecast: coefficient of variation of their ratio, which is "
       "lognormal."},
      {"landscape", &SyntheticOptions::landscape,
       unless_default(choice<Landscape>({{"smooth", Landscape::kSmooth}, {"rugged", Landscape::kRugged}})),
       "How accuracies depend on networks, `smooth` unless given: they grow with the parameters; `rugged`: "
       "they depend on the layers, with many local optima."},
      {"landscape_seed", &SyntheticOptions::landscape_seed,
       unless_default(integer<std::uint64_t>(at_least(0))), "Which rugged landscape it is, 0 unless given."}};
  return table;
}

double lognormal(std::uint64_t seed, std::string_view purpose, std::uint64_t number, double cv) {
  const double variance = std::log1p(cv * cv);
  RandomStream random(derive_seed(seed, purpose, {number}));
  const double radius = std::sqrt(-2 * std::log1p(-random.uniform()));
  const double normal = radius * std::cos(2 * std::numbers::pi * random.uniform());
  return std::exp(std::sqrt(variance) * normal - variance / 2);
}

double forward_work(const trial::Trial& trial) {
  const space::Architecture& architecture = trial.architecture();
  const double an_epoch =
      architecture.has_network() ? static_cast<double>(architecture.cost.flops) : kStepsPerEpoch;
  const double continued = trial.continues() != nullptr ? trial.continues()->epochs : 0;
  return std::max(1.0, an_epoch * (trial.budget().epochs - continued));
}

std::unique_ptr<trial::Evaluator> make_synthetic_evaluator(const SyntheticOptions& options) {
  return std::make_unique<SyntheticEvaluator>(options);
}

EvaluatorKind synthetic_kind() {
  return {.name = "synthetic",
          .meaning =
              "Results from a closed formula in place of training, to try out a configuration or a cluster.",
          .metrics = [](const ConfigNode& /*section*/, store::TargetKind /*targets*/) { return metrics(); },
          .keys = std::make_shared<const OptionTable<SyntheticOptions>>(SyntheticOptions::table()),
          .needs = [](const ConfigNode& /*section*/) { return EvaluatorNeeds{}; },
          .make =
              [](const ConfigNode& section, const EvaluatorServices& /*services*/) {
                return make_synthetic_evaluator(SyntheticOptions::table().parse(section));
              }};
}

}  // namespace skyline::evaluate
