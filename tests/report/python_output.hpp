#pragma once

#include <string>

namespace skyline::testing {

/// What a script of tests/report prints on standard output, run by a Python that has pandas and h5py.
std::string python_output(const std::string& script, const std::string& arguments);

}  // namespace skyline::testing
