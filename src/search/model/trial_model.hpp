#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/search/pareto.hpp"
#include "skyline/trial/trial.hpp"

#include "search/model/candidate_set.hpp"
#include "search/surrogate/forecast.hpp"
#include "search/surrogate/gaussian_process.hpp"
#include "search/surrogate/hypervolume_improvement.hpp"
#include "search/surrogate/rung_targets.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace skyline::search {

/// What the results so far say about architectures that were not trained. Each measured objective and
/// constraint has a Gaussian process; computed objectives are exact numbers. A failed trial counts as the
/// worst so far in the objectives, and the share of failures near a candidate lowers its acquisition value.
/// Trials with a part of the budget (ModelPoint::budget) say what the process makes of them; fronts and best
/// values are those of whole trials. Trials that were not trained, because of what was asked before, say that
/// alone. Deterministic; not thread-safe.
class TrialModel {
 public:
  /// Acquisition functions. kImprovement: expected improvement of the best target of the model, or of the
  /// volume of targets, half of which are ranks. kUpperConfidenceBound: for a single objective that is
  /// measured. kHypervolume: expected improvement of the hypervolume in units of the metrics, for those that
  /// have both ends. kFallback, where no candidate has a value above 0 by these: nearness to the bounds of
  /// measured constraints, then uncertainty.
  enum class Acquisition { kImprovement, kUpperConfidenceBound, kHypervolume, kFallback };

  /// Results by which a model goes at most, since each prediction costs the square of their number.
  static constexpr std::size_t kMostResults = 2000;

  /// The first two arguments must outlive this object.
  /// @param most  when there are so many results, those that say the least are forgotten, a quarter
  TrialModel(const objective::ObjectiveSet& objectives, const Embedding& embedding,
             std::size_t most = kMostResults);

  /// Has so many threads compute, from now on; results are the same.
  void use_threads(std::size_t threads);
  /// Takes results of earlier runs, once, before any other. What they say is where the model begins: a
  /// process is fitted to them, and the results of this run are explained by it as far as they agree, and by
  /// their difference from it (prior_targets).
  /// @param known  as in SearchProblem
  void warm_start(const std::vector<trial::CommittedTrial>& known,
                  const std::vector<CandidatePointer>& candidates);
  /// Takes a result, or the mean of `count` repeats, whose noise is that much less. fit() must follow.
  void tell(const trial::CommittedTrial& committed, CandidatePointer candidate, std::size_t count = 1);
  /// Returns the number of results that are not forgotten.
  std::size_t results() const { return observations_.size(); }
  /// Returns how many of them succeeded.
  std::size_t successes() const { return successes_; }
  /// Fits the processes to all results. A trial without a result counts with a fantasy: the value that is
  /// expected of it (the kriging believer of Ginsbourger et al. 2010, "Kriging is well-suited to parallelize
  /// optimization").
  /// @pre some trial succeeded
  void fit(const std::vector<CandidatePointer>& under_way);
  /// Adds the fantasy of one more trial, until the next fit().
  void add_fantasy(const CandidatePointer& candidate);

  /// Returns the acquisition value of each candidate: at least 0, except by kFallback.
  /// @pre fit() was called
  Eigen::ArrayXd acquisition(const std::vector<CandidatePointer>& candidates, Acquisition kind);
  /// Returns whether there is one objective, and it is measured.
  bool has_single_measured_objective() const;
  /// Returns the candidates of the best trials, at most `most`: those on the front that is expected, the
  /// newest first, then by the first measured objective. @pre fit() was called
  std::vector<CandidatePointer> best(std::size_t most) const;
  /// Returns the candidates of all trained trials, best first: by the first objective, the oldest of equal
  /// ones first; then those that break a constraint, then those that failed. None if also results of earlier
  /// runs or of parts of the budget count, which no order compares with them.
  std::vector<CandidatePointer> ranked_trials() const;
  /// Returns the candidates of at most `most` trials: those of the first front of what is expected, then
  /// those of the second one, and so on, the newest of a front first. @pre fit() was called
  std::vector<CandidatePointer> first_fronts(std::size_t most) const;
  /// Returns the objectives of candidates, minimized: for measured ones a value that is drawn from what is
  /// expected, as the model sees it; for computed ones the value. A candidate whose drawn value breaks a
  /// measured constraint is worse than all others. @pre fit() was called
  std::vector<std::vector<double>> sampled(const std::vector<CandidatePointer>& candidates,
                                           RandomStream& random);
  /// Returns what is expected of the first measured objective; nullopt if there is none. @pre fit() was
  /// called
  std::optional<trial::Expected> expected(const CandidatePointer& candidate);
  /// Returns the number of the trial on the front that is nearest to the candidate; nullopt without any.
  std::optional<trial::TrialNumber> nearest_on_front(const Candidate& candidate) const;

 private:
  /// A number with a process of its own: measured, or 1 for a failure and 0 for a success.
  struct Column {
    explicit Column(const PointSpace& space) : process(space), forecast(process, kMostForecast) {}

    static constexpr std::size_t kMostForecast = 12 * CandidateSet::kMostNumbers;  // bytes
    std::optional<std::size_t> measured_index;                                     // no value for failures
    const objective::Objective* objective = nullptr;    // nullptr for constraints and failures
    const objective::Constraint* constraint = nullptr;  // nullptr for objectives and failures
    GaussianProcess process;
    Forecast forecast;
    Eigen::Index chosen_by = 0;  // number of results by which the hyper-parameters were chosen
    RungTargets known{{}, RungTargets::Kind::kNumber};  // the results that say something, at the last fit
    Eigen::VectorXd means;                              // expected values of the trials, fantasies included
    /// Set for an objective with known results: a target is slope * (what the prior expects - centre), and
    /// what the process says.
    std::optional<GaussianProcess> prior;
    std::optional<Forecast> prior_forecast;
    double slope = 0;
    double centre = 0;
  };
  struct Observation {
    trial::TrialNumber number = 0;
    std::optional<std::vector<double>> measured;   // no value if it failed
    std::optional<std::vector<double>> minimized;  // objectives; no value if it breaks a constraint, too
    std::size_t count = 1;                         // number of results whose mean that is
  };

  /// A point as a process has it: equal ones have equal rows of a factor.
  struct Row {
    std::uint64_t key = 0;
    std::size_t count = 1;
    bool operator==(const Row&) const = default;
  };

  bool is_whole(std::size_t place) const { return points_[place]->point.budget == 0; }
  std::size_t trained() const { return observations_.size() - outside_; }
  std::size_t known_of(const Column& column) const;
  bool says_something(const std::vector<double>& measured) const;
  std::vector<std::size_t> ranked() const;
  std::vector<std::size_t> most_informative() const;
  void forget();
  static Eigen::VectorXd prior_means(Column& column, const Points& points,
                                     std::span<const std::uint64_t> keys);
  Eigen::VectorXd prior_means(Column& column, std::span<const CandidatePointer> trials);
  void explain_by_prior(Column& column, std::size_t first);
  void fit(Column& column);
  std::vector<Prediction> predictions(const std::vector<CandidatePointer>& candidates);
  bool is_used(const Column& column) const { return column.measured_index || successes_ < trained(); }
  void synchronize(Column& column);
  RungTargets standardised(const Column& column, Eigen::Index count) const;
  Eigen::VectorXd targets(Column& column, Eigen::Index count);
  static double place_of(const objective::Objective& objective, const space::Architecture& architecture);
  void find_places(std::size_t first);
  std::vector<std::size_t> expected_front() const;
  Eigen::ArrayXd nearness(const std::vector<Prediction>& predictions, Eigen::Index count) const;
  Eigen::ArrayXd best_improvement(const Prediction& prediction) const;
  Eigen::ArrayXd volume_improvement(const std::vector<CandidatePointer>& candidates,
                                    const std::vector<Prediction>& predictions, bool is_of_values) const;
  PiecewiseLinear scale_of(const Column& column) const;

  const objective::ObjectiveSet& objectives_;
  const Embedding& embedding_;
  const std::size_t most_;
  std::size_t threads_ = 1;
  std::deque<Column> columns_;  // the measured objectives in their order, measured constraints, failures
  std::vector<Observation> observations_;  // in their order, those of trials that were not trained at the end
  std::size_t outside_ = 0;                // number of the latter
  std::vector<CandidatePointer> points_;   // training points: trials with a result, then fantasies
  std::vector<Row> rows_;                  // rows of the processes in use, at the last fit
  /// Objectives of each whole trial, with a result or a fantasy, minimized: what is expected of measured
  /// ones. A trial that breaks a constraint has none, and neither has a fantasy that may break one.
  std::vector<std::vector<double>> places_;
  std::size_t successes_ = 0;
  ParetoArchive front_;  // places of the trials on the front
};

}  // namespace skyline::search
