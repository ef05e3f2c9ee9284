#include "search/algorithms/known_order.hpp"

#include "search/pareto/ranking.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_set>
#include <utility>

namespace skyline::search {
namespace {

/// The known results of one source. Those of another one may be of other data, and are never compared with
/// them.
struct Source {
  std::vector<std::vector<double>> points;  // minimized
  std::vector<ArchitecturePointer> architectures;
};

struct Ranked {
  std::size_t rank = 0;  // in its source
  double crowding = 0;   // the less, the farther from its neighbours
  ArchitecturePointer architecture;
};

}  // namespace

std::vector<ArchitecturePointer> best_known(const SearchProblem& problem) {
  std::map<std::uint32_t, Source> sources;
  for (const trial::CommittedTrial& known : problem.known) {
    auto values = problem.objectives.minimized(known);
    if (!values) continue;
    Source& source = sources[known.trial.proposal.iteration];
    source.points.push_back(*std::move(values));
    source.architectures.push_back(known.trial.proposal.architecture);
  }
  std::vector<Ranked> all;
  for (const auto& [number, source] : sources) {
    const std::vector<std::size_t> ranks = front_ranks(source.points);
    const std::vector<double> distances = crowding_distances(source.points, ranks);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      all.push_back({ranks[i], -distances[i], source.architectures[i]});
    }
  }
  std::ranges::stable_sort(all, {}, [](const Ranked& each) { return std::pair(each.rank, each.crowding); });
  std::vector<ArchitecturePointer> best;
  std::unordered_set<space::ArchId> seen;  // several sources may have one
  for (const Ranked& each : all) {
    if (seen.insert(each.architecture->id).second) best.push_back(each.architecture);
  }
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
