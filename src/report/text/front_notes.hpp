#pragma once

#include "report/report.hpp"

#include <string>

namespace skyline::report {

/// Returns the lines below the table of the front that say how far its numbers can be trusted: of how many
/// repeats the values of full trainings are means, which members the samples do not tell apart, what a model
/// has that always says the same, and which networks are the same. Empty without a front.
std::string front_notes(const ReportInputs& inputs);

}  // namespace skyline::report
