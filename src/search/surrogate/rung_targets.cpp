#include "search/surrogate/rung_targets.hpp"

#include "search/surrogate/normal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

namespace skyline::search {
namespace {

constexpr double kMostValue = 1e100;  // so that squares are finite; an infinite value counts as this

std::optional<double> value_of(const RungResult& result) {
  if (!result.value) return std::nullopt;
  return std::clamp(*result.value, -kMostValue, kMostValue);
}

/// The normal quantile of each value's rank; equal values share the mean of their ranks.
Eigen::ArrayXd quantiles_of_ranks(const Eigen::VectorXd& values) {
  std::vector<Eigen::Index> order(static_cast<std::size_t>(values.size()));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::sort(order.begin(), order.end(),
            [&](Eigen::Index left, Eigen::Index right) { return values[left] < values[right]; });
  Eigen::ArrayXd quantiles(values.size());
  for (auto begin = order.begin(); begin != order.end();) {
    const auto end =
        std::find_if(begin, order.end(), [&](Eigen::Index place) { return values[place] != values[*begin]; });
    const auto ranks =
        static_cast<double>((begin - order.begin()) + (end - order.begin()));  // twice the mean, plus 1
    const double quantile = normal_quantile(0.5 * ranks / static_cast<double>(values.size()));
    for (; begin != end; ++begin) quantiles[*begin] = quantile;
  }
  return quantiles;
}

/// Returns the values of some results, failures counting as said.
Eigen::VectorXd values_of(std::span<const RungResult> results, const std::vector<Eigen::Index>& members,
                          RungTargets::Kind kind) {
  double worst = std::numeric_limits<double>::infinity();
  double sum = 0;
  std::size_t succeeded = 0;
  for (const Eigen::Index member : members) {
    const std::optional<double> value = value_of(results[static_cast<std::size_t>(member)]);
    if (!value) continue;
    worst = std::min(worst, *value);
    sum += *value;
    ++succeeded;
  }
  if (succeeded == 0) return Eigen::VectorXd::Zero(std::ssize(members));
  const bool is_objective = kind == RungTargets::Kind::kObjective;
  const double of_failures = is_objective ? worst : sum / static_cast<double>(succeeded);
  Eigen::VectorXd values(std::ssize(members));
  Eigen::Index place = 0;
  for (const Eigen::Index member : members) {
    values[place++] = value_of(results[static_cast<std::size_t>(member)]).value_or(of_failures);
  }
  return values;
}

}  // namespace

Eigen::VectorXd surrogate_targets(const Eigen::VectorXd& values) {
  if (values.size() == 0) return values;
  const Eigen::ArrayXd centered = values.array() - values.mean();
  const double deviation = std::sqrt(centered.square().mean());
  const Eigen::ArrayXd targets =
      0.5 * quantiles_of_ranks(values) + 0.5 * (centered / (deviation + 1e-9)).max(-2.0).min(2.0);
  return targets - targets.mean();
}

RungTargets::RungTargets(std::span<const RungResult> results, Kind kind)
    : values(std::ssize(results)), targets(std::ssize(results)) {
  std::map<double, std::vector<Eigen::Index>> rungs;  // indices of results by budget, rising
  for (Eigen::Index i = 0; i < std::ssize(results); ++i) {
    rungs[results[static_cast<std::size_t>(i)].budget].push_back(i);
  }
  std::unordered_map<space::ArchId, double> earlier;  // the target with the largest budget so far
  for (const auto& [budget, members] : rungs) add_rung(results, members, kind, earlier);
}

void RungTargets::add_rung(std::span<const RungResult> results, const std::vector<Eigen::Index>& members,
                           Kind kind, std::unordered_map<space::ArchId, double>& earlier) {
  const Eigen::VectorXd own = values_of(results, members, kind);
  Eigen::VectorXd its;
  if (kind == Kind::kObjective) {
    its = surrogate_targets(own);
  } else {
    offset = own.mean();
    const double deviation = std::sqrt((own.array() - offset).square().mean());
    scale = deviation > 0 ? deviation : 1;
    its = (own.array() - offset) / scale;
  }
  std::vector<double> before;
  for (const Eigen::Index member : members) {
    const auto found = earlier.find(results[static_cast<std::size_t>(member)].id);
    if (found != earlier.end()) before.push_back(found->second);
  }
  if (!before.empty()) place(its, before);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const double target = its[static_cast<Eigen::Index>(i)];
    values[members[i]] = own[static_cast<Eigen::Index>(i)];
    targets[members[i]] = target;
    earlier[results[static_cast<std::size_t>(members[i])].id] = target;
  }
}

/// Moves the targets of a rung to where the same architectures were before.
void RungTargets::place(Eigen::VectorXd& its, const std::vector<double>& before) {
  const Eigen::Map<const Eigen::ArrayXd> there(before.data(), std::ssize(before));
  const double centre = there.mean();
  const double spread =
      std::sqrt(((there - centre).square().sum() + 1) / static_cast<double>(before.size() + 1));
  its = centre + spread * its.array();
  scale /= spread;
  offset -= scale * centre;
}

}  // namespace skyline::search
