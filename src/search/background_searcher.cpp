#include "search/background_searcher.hpp"

#include <chrono>
#include <iterator>
#include <utility>

namespace skyline::search {

BackgroundSearcher::BackgroundSearcher(std::unique_ptr<Searcher> next, std::shared_ptr<CostCounter> counter)
    : ForwardingSearcher(std::move(next)), counter_(std::move(counter)) {}

BackgroundSearcher::~BackgroundSearcher() {
  counter_->stop();
  if (thought_.valid()) thought_.wait();
}

Answer BackgroundSearcher::ask(std::size_t room) {
  Answer answer;
  if (ready_.empty()) {
    if (!thought_.valid()) {
      thought_ = std::async(std::launch::async, [this, room] {
        try {
          return ForwardingSearcher::ask(room);
        } catch (const CostCounter::Stopped&) {
          return Answer();
        }
      });
    }
    if (thought_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      return {{}, Answer::State::kBusy};
    Answer thought = thought_.get();
    answer.state = thought.state;
    std::ranges::move(thought.proposals, std::back_inserter(ready_));
  }
  while (!ready_.empty() && answer.proposals.size() < room) {
    answer.proposals.push_back(std::move(ready_.front()));
    ready_.pop_front();
  }
  if (!ready_.empty()) answer.state = Answer::State::kMore;
  return answer;
}

bool BackgroundSearcher::accept(const trial::Proposal& recorded) {
  return !is_busy() && ForwardingSearcher::accept(recorded);
}

void BackgroundSearcher::stop() {
  counter_->stop();
  if (!thought_.valid()) ForwardingSearcher::stop();
}

bool BackgroundSearcher::finished() const {
  return !is_busy() && ForwardingSearcher::finished();
}

}  // namespace skyline::search
