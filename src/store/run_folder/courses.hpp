#pragma once

#include "skyline/trial/evaluator.hpp"

#include "store/run_folder/run_folder.hpp"

#include <map>
#include <vector>

namespace skyline::store {

/// Courses of trials by name.
using Courses = std::map<trial::TrialName, std::vector<trial::CoursePoint>>;

/// Appends the course of a trial to courses/RANK.jsonl, which this rank alone writes: one line per trial,
/// with a checksum as in the journal. Not synced: a crash may cost the last ones. @throws Problem
void append_course(const RunPaths& paths, int rank, trial::TrialName trial,
                   const std::vector<trial::CoursePoint>& course);

/// Reads what all ranks of all jobs have appended. A line that does not end, or is damaged, is left out; of a
/// trial that was trained again, the last one counts. @throws UserError if the folder cannot be read
Courses read_courses(const RunPaths& paths);

}  // namespace skyline::store
