#include "comm/environment.hpp"

#include <iostream>

/// Rank 1 meets an error while the others wait for it in a collective.
int main() {
  const auto environment = skyline::comm::Environment::start();
  if (environment->world().rank() == 1) {
    std::cout << "said before the end";
    environment->abort(2);
  }
  skyline::comm::wait(*environment->world().barrier());
  return 0;
}
