#include "search/outside_searcher.hpp"

#include "core/text/wording.hpp"

#include <limits>
#include <utility>

namespace skyline::search {
namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kMostGiven = 3;  // limit, as a multiple of the trials that the search may have

}  // namespace

OutsideSearcher::OutsideSearcher(std::unique_ptr<Searcher> next, std::size_t trials)
    : ForwardingSearcher(std::move(next)),
      most_(trials > kUnlimited / (kMostGiven + 1) ? kUnlimited : kMostGiven * trials) {}

void OutsideSearcher::tell(const trial::CommittedTrial& committed) {
  ForwardingSearcher::tell(committed);
  if (trial::is_outside(committed.outcome) && count_++ < most_) allow_one_more();
}

bool OutsideSearcher::gave_up() const {
  return count_ > most_ || ForwardingSearcher::gave_up();
}

std::string OutsideSearcher::finish_reason() const {
  if (count_ > most_)
    return counted(count_, "trial") + " broke a constraint on what is asked before a training";
  const std::string reason = ForwardingSearcher::finish_reason();
  return count_ == 0 ? reason : reason + ", " + std::to_string(count_) + " of them outside of constraints";
}

}  // namespace skyline::search
