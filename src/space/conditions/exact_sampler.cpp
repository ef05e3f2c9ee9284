#include "space/conditions/exact_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

namespace skyline::space {
namespace {

constexpr double kMostComparisons = 5e7;  // limit for all tables together, a fraction of a second
constexpr double kMostCells = 4e6;

/// Multiplies weights. A product of tiny ones does not become 0, so that what is possible stays so.
double times(double left, double right) {
  const double product = left * right;
  if (product > 0 || left == 0 || right == 0) return product;
  return std::numeric_limits<double>::min();
}

/// The parameters that have no table yet. Those that share a condition, or a table that was made, are tied.
class TiedParameters {
 public:
  TiedParameters(const Domains& domains, const std::vector<Condition>& conditions,
                 const std::vector<std::size_t>& chosen)
      : domains_(domains), neighbours_(domains.size()), conditions_of_(domains.size()) {
    for (const std::size_t condition : chosen) {
      const std::vector<std::size_t>& named = conditions[condition].parameters();
      for (const std::size_t p : named) {
        conditions_of_[p].push_back(condition);
        neighbours_[p].insert(named.begin(), named.end());
      }
    }
    for (std::size_t p = 0; p < domains_.size(); ++p) {
      neighbours_[p].erase(p);
      if (!domains_[p].empty()) open_.insert({combinations(p), p});
    }
  }

  bool empty() const { return open_.empty(); }
  /// Returns the parameter with the fewest combinations of its choices and its neighbours', and their number.
  std::pair<double, std::size_t> cheapest() const { return *open_.begin(); }
  const std::vector<std::size_t>& conditions_of(std::size_t parameter) const {
    return conditions_of_[parameter];
  }

  /// Takes a parameter out, ties its neighbours to each other, and returns them.
  std::vector<std::size_t> eliminate(std::size_t parameter) {
    open_.erase({combinations(parameter), parameter});
    std::vector<std::size_t> others(neighbours_[parameter].begin(), neighbours_[parameter].end());
    for (const std::size_t other : others) {
      open_.erase({combinations(other), other});
      neighbours_[other].insert(others.begin(), others.end());
      neighbours_[other].erase(parameter);
      neighbours_[other].erase(other);
      open_.insert({combinations(other), other});
    }
    return others;
  }

 private:
  double combinations(std::size_t p) const {
    double product = static_cast<double>(domains_[p].size());
    for (const std::size_t other : neighbours_[p]) product *= static_cast<double>(domains_[other].size());
    return product;
  }

  const Domains& domains_;
  std::vector<std::set<std::size_t>> neighbours_;
  std::vector<std::vector<std::size_t>> conditions_of_;
  std::set<std::pair<double, std::size_t>> open_;  // combinations and parameter
};

}  // namespace

ExactSampler::ExactSampler(const ConditionedSpace& space, Domains domains, bool weighted)
    : space_(space), domains_(std::move(domains)), weights_(domains_.size()) {
  for (std::size_t p = 0; p < domains_.size(); ++p) {
    weights_[p].assign(domains_[p].size(), 1);
    if (!weighted || domains_[p].empty()) continue;
    const std::vector<double>& weights = space_.parameters[p].weights;
    const double largest = *std::ranges::max_element(weights);
    for (std::size_t place = 0; place < domains_[p].size(); ++place) {
      weights_[p][place] =
          std::max(weights[domains_[p][place]] / largest, std::numeric_limits<double>::min());
    }
  }
  choose_conditions();
  Scratch scratch = this->scratch();
  for (Step& step : steps_) fill(step, scratch);
}

/// Takes all conditions if their tables are small enough, otherwise one after the other while they are.
void ExactSampler::choose_conditions() {
  std::vector<std::size_t> chosen(space_.conditions.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = i;
  if (auto steps = plan(chosen)) {
    steps_ = *std::move(steps);
    return;
  }
  is_complete_ = false;
  chosen.clear();
  steps_ = *plan(chosen);
  for (std::size_t i = 0; i < space_.conditions.size(); ++i) {
    chosen.push_back(i);
    if (auto steps = plan(chosen)) {
      steps_ = *std::move(steps);
    } else {
      chosen.pop_back();
    }
  }
}

/// Returns the steps without their tables, or nullopt if these would be too large. The next parameter is
/// always the one whose table is the cheapest.
std::optional<std::vector<ExactSampler::Step>> ExactSampler::plan(
    const std::vector<std::size_t>& conditions) const {
  TiedParameters open(domains_, space_.conditions, conditions);
  std::vector<Step> steps;
  std::vector<bool> placed(space_.conditions.size());
  std::vector<std::vector<std::size_t>> tables_of(domains_.size());  // steps whose tables depend on it
  double comparisons = 0;
  double cells = 0;
  while (!open.empty()) {
    const auto [size, parameter] = open.cheapest();
    Step step;
    step.parameter = parameter;
    step.others = open.eliminate(parameter);
    step.inner = tables_of[parameter];
    double cost = 1 + static_cast<double>(step.inner.size());
    for (const std::size_t condition : open.conditions_of(parameter)) {
      if (placed[condition]) continue;
      placed[condition] = true;
      step.conditions.push_back(condition);
      cost += space_.conditions[condition].cost();
    }
    comparisons += size * cost;
    cells += size / static_cast<double>(domains_[parameter].size());
    if (comparisons > kMostComparisons || cells > kMostCells) return std::nullopt;
    for (const std::size_t other : step.others) {
      std::erase_if(tables_of[other], [&](std::size_t earlier) {
        return std::ranges::find(step.inner, earlier) != step.inner.end();
      });
      tables_of[other].push_back(steps.size());
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

ExactSampler::Scratch ExactSampler::scratch() const {
  Scratch scratch{{std::vector<std::uint32_t>(domains_.size())},
                  std::vector<std::size_t>(domains_.size()),
                  std::vector<bool>(domains_.size())};
  return scratch;
}

std::size_t ExactSampler::place_in_table(const Step& step, const Scratch& scratch) const {
  std::size_t place = 0;
  for (const std::size_t other : step.others) place = place * domains_[other].size() + scratch.places[other];
  return place;
}

/// Returns what a choice of the step's parameter weighs, for the present choices of the others.
double ExactSampler::mass(const Step& step, std::size_t place, Scratch& scratch) const {
  scratch.places[step.parameter] = place;
  scratch.genotype.choices[step.parameter] = domains_[step.parameter][place];
  const Bindings bindings{space_.parameters, scratch.genotype, space_.classes, scratch.used};
  double mass = weights_[step.parameter][place];
  for (const std::size_t condition : step.conditions) {
    if (!space_.conditions[condition].answer(bindings, space_.values)) return 0;
  }
  for (const std::size_t inner : step.inner) {
    mass = times(mass, steps_[inner].table[place_in_table(steps_[inner], scratch)]);
  }
  return mass;
}

void ExactSampler::fill(Step& step, Scratch& scratch) const {
  std::size_t cells = 1;
  for (const std::size_t other : step.others) cells *= domains_[other].size();
  step.table.reserve(cells);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    std::size_t rest = cell;
    for (std::size_t i = step.others.size(); i-- > 0;) {
      const std::size_t other = step.others[i];
      scratch.places[other] = rest % domains_[other].size();
      scratch.genotype.choices[other] = domains_[other][scratch.places[other]];
      rest /= domains_[other].size();
    }
    double sum = 0;
    for (std::size_t place = 0; place < domains_[step.parameter].size(); ++place) {
      sum += mass(step, place, scratch);
    }
    step.table.push_back(sum);
  }
  // Keeps products of many tables within the range of doubles. A power of two loses no digits.
  const double largest = *std::ranges::max_element(step.table);
  constexpr int kFar = 100;
  if (largest == 0 || std::abs(std::ilogb(largest)) < kFar) return;
  step.exponent = std::ilogb(largest);
  for (double& cell : step.table) {
    if (cell > 0) cell = std::max(std::ldexp(cell, -step.exponent), std::numeric_limits<double>::min());
  }
}

long double ExactSampler::weight() const {
  long double weight = 1;
  int exponent = 0;
  for (const Step& step : steps_) {
    if (step.others.empty()) weight *= step.table.front();
    exponent += step.exponent;
  }
  return std::ldexp(weight, exponent);
}

void ExactSampler::sample(RandomStream& random, Genotype& genotype) const {
  Scratch scratch = this->scratch();
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    std::vector<double> masses;
    for (std::size_t place = 0; place < domains_[step->parameter].size(); ++place) {
      masses.push_back(mass(*step, place, scratch));
    }
    const std::size_t drawn = random.weighted(masses);
    scratch.places[step->parameter] = drawn;
    scratch.genotype.choices[step->parameter] = domains_[step->parameter][drawn];
    genotype.choices[step->parameter] = scratch.genotype.choices[step->parameter];
  }
}

}  // namespace skyline::space
