#pragma once

#include "report/files/trial_results.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace skyline::report {

/// Bounds of a table for people.
struct TableBounds {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::size_t rows = kNone;
  std::string rows_with = {};   // how the user sees all rows, e.g. an option; the count of the rest names it
  std::size_t columns = kNone;  // columns of text
  std::string columns_with = {};  // how the user sees what the columns lack, e.g. a command
};

/// Table of the front of the search, best first objective first, then a count of the rows that are left out.
/// Where it is too wide, parameters without differences are left out first, then the id, then other
/// parameters. If there are full trainings, it shows the final front with the accuracy on the test set, then
/// the other members of the search's front and why they are not on the final one. The heading names the
/// budget of each column. Repeated full trainings have their mean, and in brackets its standard deviation.
std::string front_table(const ReportInputs& inputs, const TableBounds& bounds = {});
/// Returns the lines below the table of the front that say how far its numbers can be trusted: of how many
/// repeats the values of full trainings are means, which members the samples do not tell apart, what a model
/// has that always says the same, and which networks are the same. Empty without a front.
std::string front_footnotes(const ReportInputs& inputs);
/// Returns the members of the front that the samples do not tell apart from the one with the best first
/// objective; none if that is no share of samples.
std::vector<trial::TrialNumber> indistinguishable_from_best(const ReportInputs& inputs);
/// Table of the architectures that were trained in full with several seeds: mean and standard deviation of
/// what was measured, best first objective first, with a line above. Empty if there are none.
std::string seeds_table(const ReportInputs& inputs, const TableBounds& bounds = {});
/// One line: how large the fronts' hypervolumes are and from where they are measured, or why they have none.
std::string volume_text(const run::RunState& state);
/// Returns why the front of the search is empty, as one clause. @pre it is empty
std::string no_front_reason(const ReportInputs& inputs);
/// Returns why the final front is empty, as one clause. @pre it is empty, and there are full trainings
std::string no_final_front_reason(const ReportInputs& inputs);

}  // namespace skyline::report
