#include "cuda/streams/wait_watch.hpp"

#include <vector>

namespace skyline::cuda {
namespace {

thread_local std::vector<WaitWatch*> watches;

}  // namespace

WaitWatch::WaitWatch() {
  watches.push_back(this);
}

WaitWatch::~WaitWatch() {
  std::erase(watches, this);
}

void WaitWatch::call_all(Clock::time_point since) {
  for (WaitWatch* watch : watches) watch->check(since);
}

}  // namespace skyline::cuda
