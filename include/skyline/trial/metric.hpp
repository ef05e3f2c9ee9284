#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::trial {

enum class Better : std::uint8_t { kHigher, kLower };

/// The values that a metric can have, both ends included. An infinite end is open.
struct MetricRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  /// Returns whether the value lies within the range. NaN never does.
  bool holds(double value) const { return low <= value && value <= high; }
  bool operator==(const MetricRange&) const = default;
};

/// The description of a named number of a trial. An evaluator declares one for each value that it measures,
/// and the journal keeps it. Nothing is guessed from the name.
struct Metric {
  enum class When : std::uint8_t { kEveryTrial, kFullTraining };
  enum class Of : std::uint8_t { kNone, kTrain, kValidation, kTest };

  std::string name;
  Better better = Better::kHigher;
  MetricRange range = {};            // a trial with a value outside of it has failed
  std::string unit = {};             // unit shown to people, e.g. "ms"; empty if there is none
  When when = When::kEveryTrial;     // metrics of full trainings count for the final front alone
  Of of = Of::kNone;                 // part of the data on which it is measured
  std::optional<double> ideal = {};  // best possible value; if not given, the better end of the range
  bool has_course = false;           // whether the points of a learning curve have it
  std::string repeats = {};          // metric of the search that this one repeats on the test set
  bool is_before = false;            // asked of a program before the training, so that each step has it
  bool computed = false;             // known before a training: a cost of the network, or a given metric

  bool operator==(const Metric&) const = default;
};

/// The facts about the data by which the values of a metric are judged.
struct Baseline {
  std::string metric;
  std::optional<std::uint64_t> samples;  // number of samples, if the metric is a share of right answers
  std::optional<std::uint64_t> scored;   // number of them that score a search trial; if not given, all
  std::optional<double> constant;        // value of a model that always says the same
};
/// Returns the baseline of a metric, or nullptr. The pointer is valid as long as `baselines` is.
const Baseline* find_baseline(const std::vector<Baseline>& baselines, std::string_view metric);

/// Returns the names of the metrics in the same order.
std::vector<std::string> names_of(const std::vector<Metric>& metrics);
/// Returns the names of the metrics that have a course, in their order.
std::vector<std::string> course_metrics(const std::vector<Metric>& metrics);
/// Returns the metric of this name, or nullptr. The pointer is valid as long as `metrics` is.
const Metric* find_metric(const std::vector<Metric>& metrics, std::string_view name);
/// Checks the metrics that an evaluator declares: each has a printable name of its own, a range that is not
/// empty, and an ideal within the range.
/// @throws UserError that names the metric
void check_metrics(const std::vector<Metric>& metrics);

}  // namespace skyline::trial
