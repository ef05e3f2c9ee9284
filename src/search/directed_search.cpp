#include "search/directed_search.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace skyline::search {
namespace {

constexpr double kExcessOfUnbuilt = 1e6;  // larger than that of any network
constexpr int kSteps = 50;                // steps among valid architectures, from each that was found

/// Returns a logarithm that also takes values of 0 and below, and grows with them.
double magnitude(double value) {
  return std::copysign(std::log1p(std::abs(value)), value);
}

/// Returns the choices that a descent tries: neighbours, half the way to either end, a quarter, and so on.
std::set<std::uint32_t> choices_about(std::uint32_t current, std::size_t values) {
  std::set<std::uint32_t> choices;
  const auto last = static_cast<std::uint32_t>(values - 1);
  for (std::uint32_t step = current; step > 0; step /= 2) choices.insert(current - step);
  for (std::uint32_t step = last - current; step > 0; step /= 2) choices.insert(current + step);
  return choices;
}

}  // namespace

ArchitecturePointer DirectedSearch::run(RandomStream& random,
                                        const std::function<bool(const space::Architecture& found)>& accept) {
  while (!is_over()) {
    Point point = evaluate(space_.sample(random));
    descend(point, random);
    for (int step = 0; point.excess == 0 && step < kSteps && !is_over(); ++step) {
      if (accept(*point.architecture)) return point.architecture;
      Point next = neighbour(point, random);
      if (next.excess == 0) point = std::move(next);
    }
  }
  return nullptr;
}

DirectedSearch::Point DirectedSearch::evaluate(space::Genotype genotype) {
  space::BuildAttempt attempt = try_build_(genotype);
  ++networks_;
  if (!attempt.architecture) {
    layers_ += attempt.steps;
    const double excess = kExcessOfUnbuilt * (1 + 1 / (1 + static_cast<double>(attempt.steps)));
    return {std::move(genotype), nullptr, std::move(attempt.reads), excess};
  }
  const double excess = excess_of(*attempt.architecture);
  layers_ += attempt.architecture->layer_count();
  return {std::move(genotype), std::make_shared<const space::Architecture>(*std::move(attempt.architecture)),
          std::move(attempt.reads), excess};
}

/// Measures excess as ratios, so that constraints on different costs can be compared.
double DirectedSearch::excess_of(const space::Architecture& architecture) const {
  double excess = 0;
  for (const objective::Constraint& constraint : objectives_.constraints()) {
    if (!constraint.computed) continue;
    // A program need not count what breaks other constraints.
    const auto known = objective::find_computed(architecture, constraint.metric);
    if (!known) continue;
    const double value = *known;
    if (value > constraint.high) excess += magnitude(value) - magnitude(constraint.high);
    if (value < constraint.low) excess += magnitude(constraint.low) - magnitude(value);
  }
  // For near bounds the logarithms may be equal.
  return objectives_.feasible(architecture) ? 0 : std::max(excess, std::numeric_limits<double>::min());
}

bool DirectedSearch::is_open(const Point& point, std::size_t parameter) const {
  const bool used =
      point.architecture == nullptr ? point.reads[parameter] : point.architecture->used[parameter];
  return used && space_.parameters()[parameter].values.size() > 1;
}

/// Gives a parameter the best of some values. Returns whether the excess has become smaller.
bool DirectedSearch::improve(Point& point, std::size_t parameter, RandomStream& random) {
  const std::size_t values = space_.parameters()[parameter].values.size();
  Point best = point;
  for (const std::uint32_t choice : choices_about(point.genotype.choices[parameter], values)) {
    if (is_over()) break;
    auto genotype = space_.with_choice(point.genotype, parameter, choice, random);
    if (!genotype) continue;
    Point other = evaluate(*std::move(genotype));
    if (other.excess < best.excess) best = std::move(other);
  }
  const bool is_better = best.excess < point.excess;
  point = std::move(best);
  return is_better;
}

void DirectedSearch::descend(Point& point, RandomStream& random) {
  std::vector<std::size_t> order(space_.parameters().size());
  std::iota(order.begin(), order.end(), 0);
  for (bool is_better = true; is_better && point.excess > 0 && !is_over();) {
    is_better = false;
    random.shuffle(std::span<std::size_t>(order));
    for (const std::size_t parameter : order) {
      if (point.excess > 0 && is_open(point, parameter) && improve(point, parameter, random))
        is_better = true;
    }
  }
}

/// Returns a point with another value of a parameter that the network uses.
DirectedSearch::Point DirectedSearch::neighbour(const Point& point, RandomStream& random) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < space_.parameters().size(); ++i) {
    if (is_open(point, i)) open.push_back(i);
  }
  if (open.empty()) return evaluate(point.genotype);
  const std::size_t parameter = open[random.below(open.size())];
  const std::size_t values = space_.parameters()[parameter].values.size();
  const auto choice = static_cast<std::uint32_t>(random.below(values));
  return evaluate(space_.with_choice(point.genotype, parameter, choice, random).value_or(point.genotype));
}

}  // namespace skyline::search
