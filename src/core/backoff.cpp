#include "core/backoff.hpp"

#include <algorithm>
#include <thread>

namespace skyline {

void Backoff::pause() {
  std::this_thread::sleep_for(next_);
  next_ = std::min(next_ * 2, kLongest);
}

void Backoff::reset() {
  next_ = kShortest;
}

}  // namespace skyline
