#pragma once

#include "skyline/core/option_kind.hpp"
#include "skyline/space/network.hpp"
#include "skyline/trial/metric.hpp"
#include "skyline/trial/trial.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::space {
class Architecture;
class SearchSpace;
}  // namespace skyline::space

namespace skyline::objective {

enum class Sense { kMinimize, kMaximize };
/// How distances between values count in hypervolumes: as differences, or as quotients.
enum class Scale { kLinear, kLog };
/// Returns `linear` or `log`, as in the configuration.
std::string to_text(Scale scale);

/// A number to minimize or maximize. Computed ones are known before a training: the members of space::Cost,
/// metrics that expressions give, and those that a program counts. The others are measured by the evaluator.
struct Objective {
  std::string metric;
  Sense sense = Sense::kMinimize;
  bool computed = false;
  std::size_t measured_index = 0;  // index into Measurements::values, if not computed
  trial::Metric::When when = trial::Metric::When::kEveryTrial;
  // The ends between which hypervolumes are measured, in the user's sense; no value if unknown.
  std::optional<double> reference = {};  // the worst value that is counted
  std::optional<double> ideal = {};      // the best possible value
  Scale scale = Scale::kLinear;          // both ends of a logarithmic one are above 0
  bool states_scale = false;             // whether the configuration states it
};

/// Returns where a value, in the user's sense, lies between the ends of its objective: 0 at the ideal and
/// better values, 1 at the reference. The last bits of a logarithmic scale depend on the processor, so a
/// search that uses them repeats its proposals from the journal, and not by asking again. @pre the objective
/// has both ends
double normalized(const Objective& objective, double value);

/// Inclusive bounds of a metric. A constraint on a computed metric is checked before any training.
struct Constraint {
  std::string metric;
  double low = 0;
  double high = 0;
  bool computed = false;
  std::size_t measured_index = 0;
  trial::Metric::When when = trial::Metric::When::kEveryTrial;
};

/// Returns e.g. "flops: [0, 1000000]", as in the configuration.
std::string to_text(const Constraint& constraint);
/// Writes a number for messages and configurations: whole numbers with all digits and no point, others as the
/// shortest text that reads back.
std::string number_text(double value);
/// Writes a range for messages: "a number from 0 to 1".
std::string to_text(const trial::MetricRange& range);

/// Describe how `objectives` and `constraints` are written: ObjectiveSet::parse reads it, the JSON schema
/// shows it.
/// @param measured  metrics of the evaluators that may be used
/// @param others    whether there may be others, which an evaluator's section declares
ValueDescription objectives_format(const std::vector<std::string>& measured, bool others);
ValueDescription constraints_format(const std::vector<std::string>& measured, bool others);

/// Returns the descriptions of the costs of networks, the metrics that every space with a network has. The
/// reference stays valid; any thread may use it.
const std::vector<trial::Metric>& cost_metrics();
std::vector<std::string> cost_metric_names();
/// Returns whether it is the name of a cost in int8, which networks have only if something asks for it.
bool is_int8_cost(std::string_view metric);
/// Says whether a metric is of a kind, e.g. is_int8_cost.
using MetricKind = bool (*)(std::string_view metric);
/// Returns the first place in the objectives and constraints of a configuration that names a metric of a
/// kind. What has a wrong form names none; ObjectiveSet::parse refuses it.
std::optional<ConfigNode> first_aim(const ConfigNode& root, MetricKind is_of_kind);
/// Returns a computed metric of an architecture: one that an expression gives or a program has counted, or a
/// cost of its network. Returns nullopt for a metric that is not computed, or not counted yet.
std::optional<double> find_computed(const space::Architecture& architecture, std::string_view metric);
/// Returns the same. @throws InternalError for a metric that is not known
double computed_metric(const space::Architecture& architecture, std::string_view metric);

/// The objectives and constraints that guide a search, of metrics that every trial has. of_full_trainings()
/// returns the set with those that only full trainings measure as well. Immutable, so any thread may use it.
class ObjectiveSet {
 public:
  /// Reads `objectives` (list of {maximize: NAME} or {minimize: NAME}, perhaps with `reference`, `ideal` and
  /// `scale`) and `constraints` (list of {NAME: [low, high]}; may be null). `measured` are the metrics of the
  /// evaluator. Afterwards an objective's reference and ideal are known if the configuration, a constraint or
  /// the metric's description states them.
  /// @param has_network  whether the space has networks; otherwise there are no costs, and other metrics may
  ///                     have the names of costs
  /// @param given        descriptions of the metrics that expressions give
  /// @throws UserError, e.g. for an unknown metric ("did you mean"), one of the test set, no objective that
  ///         every trial has, low > high, a bound that no value of the metric can have
  static ObjectiveSet parse(const ConfigNode& objectives, const ConfigNode* constraints,
                            const std::vector<trial::Metric>& measured, bool has_network = true,
                            const std::vector<trial::Metric>& given = {});

  /// Fills in references and ideals of computed objectives that depend on the values in a sample of the space
  /// (always the same one): the largest one, or the bound if that is smaller, and on a logarithmic scale a
  /// tenth of the smallest one above 0. Stated values stay. Where expressions give values of 0 and below, and
  /// no scale is stated, it becomes linear, from the smallest to the largest one.
  void complete_references(const space::SearchSpace& space);
  /// Returns whether each objective has a reference and an ideal, so that fronts have a volume.
  bool has_volume() const;
  /// Returns `objectives` as a configuration states them, with references, ideals and scales.
  ConfigNode to_config() const;

  /// Returns the objectives and constraints by which full trainings are compared: also those of metrics that
  /// these alone have. The reference is valid as long as this set.
  const ObjectiveSet& of_full_trainings() const { return full_ != nullptr ? *full_ : *this; }
  /// Returns whether full trainings have more of them than trials of the search.
  bool has_more_for_full_trainings() const { return full_ != nullptr; }

  const std::vector<Objective>& objectives() const { return objectives_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }
  /// Returns the descriptions of all computed metrics: those that expressions give or a program counts, in
  /// their order, then the costs of networks if the space has some, those in int8 only if one of them is
  /// named. An objective says which direction of a given one is better.
  const std::vector<trial::Metric>& computed() const { return computed_; }
  /// Returns the names of measured metrics that an objective or a constraint needs.
  std::vector<std::string> measured_needed() const;

  /// Returns whether an architecture meets every computed constraint, as far as these are known.
  bool feasible(const space::Architecture& architecture) const;
  /// Returns the objective values in the user's sense, [num_objectives]. Returns nullopt if the trial failed
  /// or was pruned, a needed metric is NaN, or a measured constraint is not met; such trials are never on the
  /// front and never parents.
  std::optional<std::vector<double>> values(const trial::CommittedTrial& committed) const;
  /// Returns objective values with maximized columns negated, so that every column is minimized.
  std::optional<std::vector<double>> minimized(const trial::CommittedTrial& committed) const;

 private:
  void split_off_full_trainings();

  std::vector<Objective> objectives_;
  std::vector<Constraint> constraints_;
  std::vector<trial::Metric> computed_;
  std::shared_ptr<const ObjectiveSet> full_;  // objectives of full trainings; nullptr if they are the same
};

/// Returns `objectives`, a list, with the reference, the ideal and the scale that a run states for the same
/// objective, where an item states none of the three: another program may find other ends in the space.
/// @param of_run  `objectives` in the configuration of the run, a list
ConfigNode with_ends_of(const ConfigNode& objectives, const ConfigNode& of_run);

}  // namespace skyline::objective
