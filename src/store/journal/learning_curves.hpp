#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/metric.hpp"

#include "store/run_folder/run_folder.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// One training of a trial. A run may have full trainings with several budgets, and trainings without a
/// result.
struct TrainingKey {
  trial::TrialName trial;
  double started_s = 0;  // the start as in TrialTiming
  auto operator<=>(const TrainingKey&) const = default;
};
/// The points of a training, one column per name.
struct LearningCurve {
  std::vector<std::string> names = {};  // names of the values
  std::vector<std::int64_t> steps = {};
  std::vector<double> values = {};  // [steps, names]; NaN if not measured

  double value(std::size_t point, std::string_view name) const;
};
using LearningCurves = std::map<TrainingKey, LearningCurve>;

/// Appends the learning curve of a training to courses/RANK.jsonl, which only this rank writes: one line per
/// training, with a checksum as in the journal. It is not synced, so a crash may lose the last lines.
/// @throws Problem
void append_course(const RunPaths& paths, int rank, const TrainingKey& training,
                   const std::vector<trial::CurvePoint>& course);

/// Returns the names in a run's courses: first those that a training reports, whether it did or not, then the
/// first 64 others. Names of columns that tables have anyway are left out.
std::vector<std::string> course_names(const std::vector<trial::Metric>& metrics,
                                      const LearningCurves& courses = {});

/// Reads the learning curves that all ranks of all jobs have appended. An incomplete or damaged line is left
/// out.
/// @param metrics  metrics of the run
/// @throws UserError if the folder cannot be read
LearningCurves read_courses(const RunPaths& paths, const std::vector<trial::Metric>& metrics);

}  // namespace skyline::store
