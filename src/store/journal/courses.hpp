#pragma once

#include "skyline/trial/evaluator.hpp"

#include "store/run_folder/run_folder.hpp"

#include <compare>
#include <map>
#include <vector>

namespace skyline::store {

/// One training of a trial: a run may hold full ones with several budgets, and those whose result was lost.
struct TrainingKey {
  trial::TrialName trial;
  double started_s = 0;  // TrialTiming
  auto operator<=>(const TrainingKey&) const = default;
};
using Courses = std::map<TrainingKey, std::vector<trial::CoursePoint>>;

/// Appends the course of a training to courses/RANK.jsonl, which this rank alone writes: one line per
/// training, with a checksum as in the journal. Not synced: a crash may cost the last ones. @throws Problem
void append_course(const RunPaths& paths, int rank, const TrainingKey& training,
                   const std::vector<trial::CoursePoint>& course);

/// Reads what all ranks of all jobs have appended. A line that does not end, or is damaged, is left out.
/// @throws UserError if the folder cannot be read
Courses read_courses(const RunPaths& paths);

}  // namespace skyline::store
