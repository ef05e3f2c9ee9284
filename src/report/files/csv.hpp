#pragma once

#include <string>
#include <vector>

namespace skyline::report {

/// Returns one line of CSV with its end (RFC 4180). Fields with a separator, a quote, a line end
/// or a blank at an end are quoted, and quotes in them are doubled. A field that is no number and begins with
/// `=`, `+`, `-`, `@`, a tab or a line end gets an apostrophe in front: spreadsheets would calculate it.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace skyline::report
