#include "comm/communicator.hpp"

#include "core/backoff.hpp"

namespace skyline::comm {

void wait(Request& request) {
  Backoff backoff;
  while (!request.test()) backoff.pause();
}

}  // namespace skyline::comm
