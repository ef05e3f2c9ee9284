#pragma once

#include <string>

namespace skyline::testing {

/// The standard output of a script of tests/report, run by a Python with pandas and h5py.
std::string python_output(const std::string& script, const std::string& arguments);

}  // namespace skyline::testing
