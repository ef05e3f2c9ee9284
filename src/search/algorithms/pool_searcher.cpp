#include "search/algorithms/pool_searcher.hpp"

#include "core/text/wording.hpp"
#include "search/algorithms/known_order.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace skyline::search {

PoolSearcher::PoolSearcher(std::string_view name, const SearchProblem& problem, std::size_t trials)
    : pool_(problem.space, problem.objectives, problem.budget, {}, problem.counter),
      random_(derive_seed(problem.seed, "search." + std::string(name))),
      trials_(trials) {
  pool_.prefer(best_known(problem));
}

Answer PoolSearcher::ask(std::size_t room) {
  last_attempt_ = pool_.attempts() + CandidatePool::kAttemptsOfAnAsk;
  std::vector<trial::Proposal> proposals;
  while (proposals.size() < room && !finished()) {
    if (attempts_exhausted()) return {std::move(proposals), Answer::State::kMore};
    std::optional<trial::Proposal> proposed = next();
    if (!proposed) {
      if (attempts_exhausted()) continue;
      is_over_ = in_flight_ == 0;
      break;
    }
    ++asked_;
    ++in_flight_;
    proposals.push_back(*std::move(proposed));
  }
  return {std::move(proposals)};
}

void PoolSearcher::tell(const trial::CommittedTrial& committed) {
  --in_flight_;
  learn(committed);
}

std::string PoolSearcher::finish_reason() const {
  return asked_ == trials_ ? counted(asked_, "trial") + " done" : pool_.exhaustion_reason();
}

std::size_t PoolSearcher::expected_trials() const {
  return exhausted_ ? asked_ : std::min(trials_, pool_.most_candidates());
}

std::optional<trial::Proposal> PoolSearcher::draw(trial::Origin origin, std::size_t iteration) {
  ArchitecturePointer drawn = exhausted_                          ? nullptr
                              : origin == trial::Origin::kInitial ? pool_.draw_first(random_)
                                                                  : pool_.draw(random_);
  exhausted_ = drawn == nullptr;
  if (exhausted_) return std::nullopt;
  return pool_.propose(std::move(drawn), origin, {}, iteration);
}

}  // namespace skyline::search
