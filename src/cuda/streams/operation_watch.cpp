#include "cuda/streams/operation_watch.hpp"

#include <algorithm>
#include <utility>

namespace skyline::cuda {
namespace {

thread_local std::vector<WaitWatch*> watches;

}  // namespace

void OperationWatch::queue(std::string name, Clock::time_point now) {
  queued_.push_back({std::move(name), ++last_number_, now});
}

std::optional<std::string> OperationWatch::overdue(Clock::time_point now,
                                                   std::optional<Clock::time_point> waiting_since) const {
  if (!queued_.empty() && now - queued_.front().since > limit_) {
    const Queued& oldest = queued_.front();
    return takes_too_long(oldest.name + " (operation " + std::to_string(oldest.number) + ")");
  }
  if (waiting_since && now - *waiting_since > limit_ && !recorded_.empty()) {
    const std::size_t others = recorded_.size() - 1;
    return takes_too_long("a graph with " + recorded_.front() +
                          (others == 0 ? "" : " and " + std::to_string(others) + " more operations"));
  }
  return std::nullopt;
}

std::string OperationWatch::takes_too_long(const std::string& what) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit_).count();
  return what + " has not ended for " + std::to_string(seconds) +
         " s: a member of the group is lost or stuck";
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
