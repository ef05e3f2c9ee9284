#include "app/job/job_abort.hpp"

#include "skyline/core/error.hpp"

#include "app/commands/commands.hpp"
#include "core/log.hpp"

#include <iostream>

namespace skyline::app {

std::string rank_name(comm::Environment& environment) {
  return "[rank " + std::to_string(environment.world().rank()) + " " + environment.place().host + "]";
}

int end_all_ranks(comm::Environment& environment, const std::exception& error) {
  const bool users = dynamic_cast<const UserError*>(&error) != nullptr;
  const int exit_code = users ? kExitUserError : kExitBug;
  std::cerr << "skyline: " << (environment.world().size() > 1 ? rank_name(environment) + " " : "")
            << (users ? "" : "internal error: ") << error.what() << std::endl;
  log::stop();
  environment.abort(exit_code);
  return exit_code;
}

}  // namespace skyline::app
