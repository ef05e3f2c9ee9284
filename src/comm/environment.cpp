#include "comm/environment.hpp"

#include "comm/environments.hpp"

#include <chrono>
#include <cstdio>
#include <iostream>

namespace skyline::comm {

std::unique_ptr<Environment> Environment::start(const StartOptions& options) {
  const Launch launch = read_launch(process_variable);
  return launch.launcher == Launcher::kNone ? make_local_environment(launch)
                                            : start_mpi_environment(launch, options);
}

double unix_now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void flush_streams() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
}

}  // namespace skyline::comm
