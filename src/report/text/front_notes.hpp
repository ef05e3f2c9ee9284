#pragma once

#include "report/report.hpp"

#include <string>

namespace skyline::report {

/// Returns the lines below the table of the front that say how far its numbers can be trusted: of how many
/// repeats the values of full trainings are means. Empty without a front.
std::string front_notes(const ReportInputs& inputs);

}  // namespace skyline::report
