#include "search/algorithms/known_order.hpp"

#include "search/pareto/ranking.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace skyline::search {
namespace {

/// Known results are compared with those of the same source and the same budget alone: another source may be
/// of other data.
using Compared = std::vector<const trial::CommittedTrial*>;
using Budgets = std::map<double, Compared, std::greater<>>;  // key: epochs

struct Ranked {
  std::size_t rank = 0;     // among what it is compared with
  std::size_t shorter = 0;  // number of larger budgets that its source has
  double crowding = 0;      // the less, the farther from its neighbours
  ArchitecturePointer architecture;
};

/// Adds the results of a source, each architecture by its largest budget.
void add_ranked(const Budgets& budgets, const objective::ObjectiveSet& objectives, std::vector<Ranked>& all) {
  std::unordered_set<space::ArchId> longer;
  std::size_t shorter = 0;
  for (const auto& [epochs, compared] : budgets) {
    std::vector<std::vector<double>> points;  // minimized
    std::vector<ArchitecturePointer> architectures;
    for (const trial::CommittedTrial* known : compared) {
      auto values = objectives.minimized(*known);
      if (!values) continue;
      points.push_back(*std::move(values));
      architectures.push_back(known->trial.proposal.architecture);
    }
    const std::vector<std::size_t> ranks = front_ranks(points);
    const std::vector<double> distances = crowding_distances(points, ranks);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (longer.contains(architectures[i]->id)) continue;
      all.push_back({ranks[i], shorter, -distances[i], architectures[i]});
    }
    for (const trial::CommittedTrial* known : compared) longer.insert(known->trial.architecture().id);
    ++shorter;
  }
}

}  // namespace

std::vector<ArchitecturePointer> best_known(const SearchProblem& problem) {
  std::map<std::uint32_t, Budgets> sources;
  for (const trial::CommittedTrial& known : problem.known)
    sources[known.trial.proposal.iteration][known.trial.proposal.budget.epochs].push_back(&known);
  std::vector<Ranked> all;
  for (const auto& [source, budgets] : sources) add_ranked(budgets, problem.objectives, all);
  std::ranges::stable_sort(
      all, {}, [](const Ranked& each) { return std::tuple(each.rank, each.shorter, each.crowding); });
  std::vector<ArchitecturePointer> best;
  std::unordered_set<space::ArchId> seen;  // several sources may have one
  for (const Ranked& each : all) {
    if (seen.insert(each.architecture->id).second) best.push_back(each.architecture);
  }
  return best;
}

std::vector<trial::CommittedTrial> some_known(const SearchProblem& problem) {
  constexpr std::size_t kMost = 300;
  const auto id_of = [](const trial::CommittedTrial& known) { return known.trial.architecture().id; };
  // The architectures of each source, in the order of the results.
  std::map<std::uint32_t, std::unordered_map<space::ArchId, std::size_t>> numbers;
  std::size_t total = 0;
  for (const trial::CommittedTrial& known : problem.known) {
    if (numbers[known.trial.proposal.iteration].try_emplace(id_of(known), total).second) ++total;
  }
  const std::size_t count = std::min(kMost, total);
  std::vector<bool> is_chosen(total);
  for (std::size_t i = 0; i < count; ++i) is_chosen[i * total / count] = true;
  std::vector<trial::CommittedTrial> some;
  std::ranges::copy_if(problem.known, std::back_inserter(some), [&](const trial::CommittedTrial& known) {
    return is_chosen[numbers.at(known.trial.proposal.iteration).at(id_of(known))];
  });
  return some;
}

}  // namespace skyline::search
