#include "search/algorithms/known_order.hpp"

#include "search/pareto/ranking.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace skyline::search {

std::vector<ArchitecturePointer> best_known(const SearchProblem& problem) {
  std::vector<std::vector<double>> points;
  std::vector<ArchitecturePointer> architectures;
  for (const trial::CommittedTrial& known : problem.known) {
    auto values = problem.objectives.minimized(known);
    if (!values) continue;
    points.push_back(*std::move(values));
    architectures.push_back(known.trial.proposal.architecture);
  }
  const std::vector<std::size_t> ranks = front_ranks(points);
  const std::vector<double> distances = crowding_distances(points, ranks);
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::pair(ranks[i], -distances[i]); });
  std::vector<ArchitecturePointer> best;
  for (const std::size_t i : order) best.push_back(architectures[i]);
  return best;
}

std::vector<trial::CommittedTrial> some_known(const SearchProblem& problem) {
  constexpr std::size_t kMost = 300;
  const std::size_t count = std::min(kMost, problem.known.size());
  std::vector<trial::CommittedTrial> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(problem.known[i * problem.known.size() / count]);
  return some;
}

}  // namespace skyline::search
