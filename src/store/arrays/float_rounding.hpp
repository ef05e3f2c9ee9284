#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace skyline::store {

/// Returns how many different numbers there are.
std::size_t count_different(std::vector<double> values);

/// Returns a number to subtract from a column before its numbers become floats, if floats would merge
/// different numbers otherwise; else 0. Appends a line about what is subtracted, or about many that stay
/// merged.
/// @param label  name of the column for the line
/// @param drop  option that leaves columns out
double find_centre(const std::vector<double>& values, const std::string& label, const std::string& drop,
                   std::vector<std::string>& notes);

}  // namespace skyline::store
