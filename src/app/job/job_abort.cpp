#include "app/job/job_abort.hpp"

#include "skyline/core/exit_code.hpp"

#include "core/log.hpp"
#include "core/text/printable.hpp"

#include <iostream>

namespace skyline::app {

std::string rank_name(comm::Environment& environment) {
  return "[rank " + std::to_string(environment.world().rank()) + " " + environment.place().host + "]";
}

void print_error(std::string_view text) {
  std::cerr << "skyline: " << printable(text) << std::endl;
}

int end_all_ranks(comm::Environment& environment, const std::exception& error) {
  const int exit_code = exit_code_of(error);
  print_error((environment.world().size() > 1 ? rank_name(environment) + " " : "") + error_text(error));
  log::stop();
  environment.abort(exit_code);
  return exit_code;
}

}  // namespace skyline::app
