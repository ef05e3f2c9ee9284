#pragma once

#include "skyline/search/searcher.hpp"
#include "skyline/trial/evaluator.hpp"

#include "app/config/run_config.hpp"
#include "engine/dispatch/simulated_fleet.hpp"
#include "run/opened_run.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace skyline::app {

/// The distribution of the times of simulated trials.
struct TimeLaw {
  double mean_s = 60;           // mean time of a trial
  double forecast_error = 0.3;  // coefficient of variation of the lognormal time / predicted cost
  /// If set, the times are lognormal with this coefficient of variation, whatever is trained. Otherwise they
  /// follow the predicted costs of the architectures.
  std::optional<double> cv = {};
  /// Seconds per unit of predicted cost of a run's trials, used instead of the mean; empty without a run.
  std::vector<double> measured = {};
};

/// Returns the times of the run's trials, and their deviation from the forecast.
/// @throws UserError if no trial of the run has been trained
TimeLaw measured_law(const run::OpenedRun& run);

/// A search whose trials take no time. Their architectures are drawn once, so that no network is built for a
/// trial. Optionally the search itself is simulated, with invented results. Local; deterministic.
class Simulation {
 public:
  struct Options {
    TimeLaw law;
    bool with_search = false;
    std::optional<std::size_t> trials = {};  // if not given, as many as the search proposes
    double think_s = 0;                      // time that the search takes for each proposal
  };

  /// The configuration must outlive the simulation. @throws UserError
  Simulation(const RunConfig& config, Options options);
  ~Simulation();

  std::size_t trials() const { return trials_; }
  /// Simulates the search as it is configured.
  engine::FleetUse run(std::size_t slots) const;
  /// Simulates so many trials of a search without generations, with another window and commit order.
  engine::FleetUse run_steady(std::size_t slots, std::size_t trials,
                              const engine::EngineOptions& options) const;

 private:
  class Costs;

  engine::FleetUse run(std::size_t slots, const engine::EngineOptions& options,
                       search::Searcher& searcher) const;
  std::pair<double, trial::Outcome> play(const trial::Trial& trial) const;

  const RunConfig& config_;
  const Options options_;
  std::vector<std::shared_ptr<const space::Architecture>> drawn_;
  std::unique_ptr<Costs> costs_;
  std::unique_ptr<search::Searcher> searcher_;  // shows the properties of the configured searcher
  std::size_t trials_ = 0;
  double seconds_per_cost_ = 1;
};

}  // namespace skyline::app
