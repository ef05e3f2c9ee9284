#pragma once

#include <string>

namespace skyline::testing {

/// While it lives, a system call of this process fails with an errno value: the next `times` calls of that
/// name, after `spared` ones that work. faulty_calls.cpp stands in for the C library's functions: pwrite,
/// fsync, rename, link, unlink, ftruncate, utimensat.
class FaultyCall {
 public:
  FaultyCall(const std::string& call, int error_number, int times, int spared = 0);
  ~FaultyCall();
  FaultyCall(const FaultyCall&) = delete;
  FaultyCall& operator=(const FaultyCall&) = delete;

  int calls() const;  // so far
};

}  // namespace skyline::testing
