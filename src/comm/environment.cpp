#include "comm/environment.hpp"

#include "comm/environments.hpp"

#include <cstdio>
#include <iostream>

namespace skyline::comm {

std::unique_ptr<Environment> Environment::start(const StartOptions& options) {
  const Launch launch = read_launch(process_variable);
  return launch.launcher == Launcher::kNone ? make_local_environment(launch)
                                            : start_mpi_environment(launch, options);
}

void flush_streams() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
}

}  // namespace skyline::comm
