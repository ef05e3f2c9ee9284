#include "search/model/prior_targets.hpp"

#include "search/surrogate/rung_targets.hpp"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <variant>

namespace skyline::search {

PriorTargets prior_targets(const std::vector<trial::CommittedTrial>& known,
                           const objective::Objective& objective) {
  const double sign = objective.sense == objective::Sense::kMinimize ? -1 : 1;
  std::map<std::uint32_t, std::vector<std::size_t>> sources;
  for (std::size_t i = 0; i < known.size(); ++i) sources[known[i].trial.proposal.iteration].push_back(i);
  PriorTargets all;
  std::vector<double> targets;
  for (const auto& [source, members] : sources) {
    std::vector<RungResult> results;
    std::unordered_map<space::ArchId, std::size_t> longest;  // the place of each architecture's result
    for (const std::size_t member : members) {
      const auto& measured = std::get<trial::Measurements>(known[member].outcome);
      const RungResult result{sign * measured.values[objective.measured_index],
                              known[member].trial.proposal.budget.epochs,
                              known[member].trial.architecture().id};
      const auto [found, is_new] = longest.try_emplace(result.id, results.size());
      if (!is_new && results[found->second].budget < result.budget) found->second = results.size();
      results.push_back(result);
    }
    const RungTargets of_source(results, RungTargets::Kind::kObjective);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (longest.at(results[i].id) != i) continue;
      all.places.push_back(members[i]);
      targets.push_back(of_source.targets[static_cast<Eigen::Index>(i)]);
    }
  }
  all.targets = Eigen::Map<const Eigen::VectorXd>(targets.data(), std::ssize(targets));
  return all;
}

}  // namespace skyline::search
