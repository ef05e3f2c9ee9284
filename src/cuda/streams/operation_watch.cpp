#include "cuda/streams/operation_watch.hpp"

#include "core/text/wording.hpp"

#include <vector>

namespace skyline::cuda {
namespace {

thread_local std::vector<WaitWatch*> watches;

}  // namespace

std::optional<std::string> OperationWatch::overdue(Clock::time_point now,
                                                   std::optional<Clock::time_point> waiting_since) const {
  std::string what;
  if (!queued_.empty() && now - queued_.front() > limit_) {
    what = "operation " + std::to_string(ended_ + 1) + " of the group";
  } else if (recorded_ > 0 && waiting_since && now - *waiting_since > limit_) {
    what = "a recorded step with " + counted(recorded_, "operation") + " of the group";
  } else {
    return std::nullopt;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit_).count();
  return what + " has not ended for " + std::to_string(seconds) + " s: a member is lost or stuck";
}

WaitWatch::WaitWatch() {
  watches.push_back(this);
}

WaitWatch::~WaitWatch() {
  std::erase(watches, this);
}

void WaitWatch::call_all(Clock::time_point since) {
  for (WaitWatch* watch : watches) watch->look(since);
}

}  // namespace skyline::cuda
