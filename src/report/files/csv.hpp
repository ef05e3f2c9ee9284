#pragma once

#include <string>
#include <vector>

namespace skyline::report {

/// One line of CSV with its end, as RFC 4180 asks for: fields stand in quotes, with quotes doubled, if they
/// hold a separator, a quote or a line end.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace skyline::report
