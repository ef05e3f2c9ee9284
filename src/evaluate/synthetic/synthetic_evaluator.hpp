#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"
#include "skyline/trial/evaluator.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace skyline::evaluate {

/// The way in which the synthetic accuracy depends on the network: it grows with the parameters, or it is
/// rugged_quality(), which is worth searching.
enum class Landscape { kSmooth, kRugged };

/// Results from a closed formula of the network, for trying out a configuration or a cluster, and tests.
struct SyntheticOptions {
  /// A trial sleeps this long per 1e9 FLOPs of its network and epoch; 0 for no sleep.
  double seconds_per_gflop = 0;
  /// Share of architectures (by hash of the arch id) whose trials fail, 0 to 1.
  double failure_rate = 0;
  /// Coefficient of variation of a trial's time over its forecast; the quotient is lognormal.
  double forecast_error = 0;
  Landscape landscape = Landscape::kSmooth;
  std::uint64_t landscape_seed = 0;
  static const OptionTable<SyntheticOptions>& table();
};

/// Returns a lognormal number of mean 1 and that coefficient of variation, the same for the same seed,
/// purpose and number.
double lognormal(std::uint64_t seed, std::string_view purpose, std::uint64_t number, double cv);

/// Returns the predicted cost of a trial without another measure: FLOPs times the epochs to train, or the
/// epochs alone without a network; at least 1.
double forward_work(const trial::Trial& trial);

/// Makes an evaluator whose metrics have the names and order of training's. validation_accuracy depends on
/// the landscape and saturates with the epochs; its noise is a hash of arch id and seed. Deterministic.
std::unique_ptr<trial::Evaluator> make_synthetic_evaluator(const SyntheticOptions& options);

/// Returns the kind `synthetic`.
EvaluatorKind synthetic_kind();

}  // namespace skyline::evaluate
