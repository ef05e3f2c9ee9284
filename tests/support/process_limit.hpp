#pragma once

#include <sys/resource.h>

namespace skyline::testing {

/// While it lives, this process has a limit, e.g. of RLIMIT_NOFILE.
class ProcessLimit {
 public:
  ProcessLimit(decltype(RLIMIT_NOFILE) resource, rlim_t value) : resource_(resource) {
    ::getrlimit(resource_, &before_);
    const rlimit limit{value, before_.rlim_max};
    ::setrlimit(resource_, &limit);
  }
  ~ProcessLimit() { ::setrlimit(resource_, &before_); }
  ProcessLimit(const ProcessLimit&) = delete;
  ProcessLimit& operator=(const ProcessLimit&) = delete;

 private:
  decltype(RLIMIT_NOFILE) resource_;
  rlimit before_{};
};

}  // namespace skyline::testing
