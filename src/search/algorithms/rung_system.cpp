#include "search/algorithms/rung_system.hpp"

#include "skyline/core/error.hpp"
#include "skyline/search/pareto.hpp"

#include "core/config/option_list.hpp"
#include "core/text/wording.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace skyline::search {
namespace {

constexpr std::size_t kMostDistances =
    1'000'000;  // some milliseconds; where more are wanted, the oldest count

/// Returns the rank of each value among the sorted ones, column by column, so that no unit counts.
std::vector<std::vector<double>> ranks_of(const std::vector<const std::vector<double>*>& points) {
  std::vector<std::vector<double>> ranks(points.size());
  for (std::size_t column = 0; column < points.front()->size(); ++column) {
    std::vector<double> sorted;
    for (const auto* point : points) sorted.push_back((*point)[column]);
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto rank = std::ranges::lower_bound(sorted, (*points[i])[column]);
      ranks[i].push_back(static_cast<double>(rank - sorted.begin()));
    }
  }
  return ranks;
}

/// Returns `count` of the points, each the farthest from those before it. The first is the best by the first
/// objective.
std::vector<std::size_t> far_apart(const std::vector<const std::vector<double>*>& points, std::size_t count) {
  const std::vector<std::vector<double>> ranks = ranks_of(points);
  std::vector<double> distances(points.size(), std::numeric_limits<double>::infinity());
  std::vector<std::size_t> chosen;
  const auto first = std::ranges::min_element(ranks, {}, [](const auto& rank) { return rank.front(); });
  for (auto next = static_cast<std::size_t>(first - ranks.begin()); chosen.size() < count;) {
    chosen.push_back(next);
    for (std::size_t i = 0; i < points.size(); ++i) {
      double squared = 0;
      for (std::size_t column = 0; column < ranks[i].size(); ++column) {
        const double difference = ranks[i][column] - ranks[next][column];
        squared += difference * difference;
      }
      distances[i] = std::min(distances[i], squared);
    }
    distances[next] = -1;
    next = static_cast<std::size_t>(std::ranges::max_element(distances) - distances.begin());
  }
  return chosen;
}

}  // namespace

std::vector<double> RungOptions::budgets_of(const trial::Budget& full) const {
  if (budgets) return *budgets;
  std::vector<double> derived(kUnstatedRungs);
  for (std::size_t rung = 0; rung < kUnstatedRungs; ++rung) {
    double share = 1;
    for (std::size_t higher = rung + 1; higher < kUnstatedRungs; ++higher)
      share *= static_cast<double>(reduction);
    derived[rung] = full.epochs / share;
  }
  return derived;
}

void RungOptions::check(const ConfigNode& section, const trial::Budget& full) {
  const ConfigNode* stated = section.is_map() ? section.find("budgets") : nullptr;
  std::optional<std::vector<double>> budgets;
  if (stated == nullptr || !stated->is_list() || !budgets_kind().read(*stated, budgets)) return;
  const bool grows = std::ranges::adjacent_find(*budgets, std::greater_equal<>()) == budgets->end();
  if (budgets->size() >= 2 && budgets->size() <= kMostRungs && grows && budgets->back() == full.epochs) {
    return check_trials(section, budgets->size());
  }
  std::vector<std::string> texts;
  for (const double epochs : *budgets) texts.push_back(objective::number_text(epochs));
  stated->fail("expected 2 to " + std::to_string(kMostRungs) +
               " epochs that grow up to those of a whole trial, " + objective::number_text(full.epochs) +
               ", got " + joined(texts));
}

void RungOptions::check_trials(const ConfigNode& section, std::size_t rungs) {
  const ConfigNode* trials = section.is_map() ? section.find("trials") : nullptr;
  if (trials == nullptr || trials->as_integer() >= static_cast<std::int64_t>(rungs)) return;
  trials->fail("expected at least " + std::to_string(rungs) +
               ", one for each of the `budgets`: no trial is whole with fewer, got " + trials->as_text());
}

OptionKind<std::optional<std::vector<double>>> RungOptions::budgets_kind() {
  return or_keyword("auto", list_of(number(above(0)), "a list of epochs"));
}

void Rung::add(const trial::CommittedTrial& committed, const objective::ObjectiveSet& objectives) {
  Member added{committed.trial.number, committed.trial.proposal.architecture,
               objectives.minimized(committed).value_or(std::vector<double>())};
  if (!added.values.empty()) {
    for (Member& member : members_) {
      if (member.values.empty()) continue;
      if (dominates(added.values, member.values)) ++member.dominators;
      if (dominates(member.values, added.values)) ++added.dominators;
    }
  }
  members_.push_back(std::move(added));
  best_of_ = 0;
  best_.clear();
}

std::optional<std::size_t> Rung::next_to_promote(std::size_t most) const {
  if (most == 0) return std::nullopt;
  for (const std::size_t index : best(most)) {
    if (!members_[index].is_promoted) return index;
  }
  return std::nullopt;
}

const Rung::Member& Rung::promote(std::size_t index) {
  members_[index].is_promoted = true;
  return members_[index];
}

/// A trial has fewer dominators than any that it dominates, and never loses one.
bool Rung::may_rise(std::size_t index, std::size_t most) const {
  const Member& member = members_[index];
  return !member.values.empty() && !member.is_promoted && member.dominators < most;
}

/// Returns the ranks of the best members, the best first.
const std::vector<std::size_t>& Rung::best(std::size_t most) const {
  if (most == best_of_) return best_;
  best_of_ = most;
  best_.clear();
  for (std::size_t index = 0; index < members_.size(); ++index) {
    if (!members_[index].values.empty()) best_.push_back(index);
  }
  const auto dominators = [this](std::size_t index) { return members_[index].dominators; };
  std::ranges::stable_sort(best_, {}, dominators);
  if (best_.size() <= most) return best_;
  // Only some of those with as many dominators as the last one are among the best.
  const auto [first, last] = std::ranges::equal_range(best_, dominators(best_[most - 1]), {}, dominators);
  const std::vector<std::size_t> tied(first, last);
  best_.erase(first, best_.end());
  const std::size_t wanted = most - best_.size();
  if (wanted > kMostDistances / tied.size()) {
    best_.insert(best_.end(), tied.begin(), tied.begin() + static_cast<std::ptrdiff_t>(wanted));
    return best_;
  }
  std::vector<const std::vector<double>*> points;
  for (const std::size_t index : tied) points.push_back(&members_[index].values);
  for (const std::size_t chosen : far_apart(points, wanted)) best_.push_back(tied[chosen]);
  return best_;
}

RungSystem::RungSystem(CandidatePool& pool, const RungOptions& options, const SearchProblem& problem)
    : pool_(pool), budgets_(options.budgets_of(problem.budget)), rungs_(budgets_.size() - 1) {}

void RungSystem::tell(const trial::CommittedTrial& committed) {
  const auto found = std::ranges::lower_bound(budgets_, committed.trial.budget().epochs);
  const auto rung = static_cast<std::size_t>(found - budgets_.begin());
  const bool is_last = rung >= rungs_.size();
  positions_[committed.trial.number] = {rung, is_last ? 0 : rungs_[rung].size()};
  if (!is_last) rungs_[rung].add(committed, pool_.objectives());
}

std::optional<RungSystem::Position> RungSystem::position_of(trial::TrialNumber number) const {
  const auto found = positions_.find(number);
  return found == positions_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<trial::Proposal> RungSystem::begin(std::optional<trial::Proposal> proposal,
                                                 std::size_t rung) const {
  if (proposal) {
    proposal->budget = {budgets_[rung]};
    proposal->horizon = {budgets_.back()};
  }
  return proposal;
}

std::optional<trial::Proposal> RungSystem::promote(std::size_t rung, std::size_t most,
                                                   std::size_t iteration) {
  const std::optional<std::size_t> member = rungs_[rung].next_to_promote(most);
  if (!member) return std::nullopt;
  return promote(Position{rung, *member}, iteration);
}

trial::Proposal RungSystem::promote(const Position& position, std::size_t iteration) {
  const Rung::Member& member = rungs_[position.rung].promote(position.member);
  trial::Proposal proposal = pool_.propose(member.architecture, kPromotion, {}, iteration);
  proposal.budget = {budgets_[position.rung + 1]};
  proposal.start = trial::Continue{member.number};
  return proposal;
}

void RungSystem::clear() {
  rungs_.assign(rungs_.size(), Rung());
  for (auto& [number, position] : positions_) position.rung = rungs_.size();
}

}  // namespace skyline::search
