#include "space/conditions/space_conditions.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace skyline::space {
namespace {

constexpr std::size_t kMostConditions = 1'000;
constexpr int kMostDraws = 1'000;    // draws in a row that may break conditions without a table
constexpr int kMostDrawsNear = 100;  // draws in a row that may break them near a genotype
constexpr int kDescents = 3;         // descents from different starts
constexpr int kStepsOfADescent = 1'000;
constexpr std::size_t kMostTried = 64;  // values of a parameter that a step of a descent tries
constexpr double kNoise = 0.1;          // share of steps that take a random value
constexpr int kMostFailing = 10;        // conditions of which is counted what cannot be calculated

using Question = Condition::Question;

/// Returns a message about a condition, as errors have it. @param message  continues its text
std::string about(const Condition& condition, const std::string& message) {
  const ConfigNode& source = condition.expression().source();
  try {
    source.fail(in_quotes(source.as_text()) + message);
  } catch (const UserError& problem) {
    return problem.what();
  }
}

std::string count_text(long double number) {
  constexpr long double kMostDigits = 1e15L;
  if (number < kMostDigits) return std::to_string(std::llround(number));
  return "about 10^" + std::to_string(std::llround(std::log10(number)));
}

}  // namespace

SpaceConditions::SpaceConditions(const std::vector<Expression>& written,
                                 const std::vector<Parameter>& parameters, std::int64_t classes,
                                 ConditionRules rules)
    : parameters_(parameters), classes_(classes), values_(parameters), named_(parameters.size()) {
  for (const Expression& expression : written) {
    for (const std::size_t p : expression.parameters()) values_.add(p);
    for (Expression& part : split_conditions(expression)) {
      const Condition condition(std::move(part), values_, classes);
      conditions_.push_back(condition.asking(Condition::Question::kHolds, rules));
      for (const std::size_t p : condition.parameters()) {
        named_[p] = true;
        if (condition.needs_operands()) values_.add_operands(p);
      }
      if (conditions_.size() > kMostConditions) {
        expression.source().fail("the space has more than " + std::to_string(kMostConditions) +
                                 " conditions");
      }
    }
  }
}

std::string SpaceConditions::problem(const Genotype& genotype, std::vector<bool>& reads) const {
  const Bindings bindings{parameters_, genotype, classes_, reads};
  for (const Condition& condition : conditions_) {
    if (!condition.needs_operands()) {
      for (const std::size_t p : condition.parameters()) reads[p] = true;
    }
    if (condition.answer(bindings, values_)) continue;
    const std::string failure = condition.failure(bindings, values_);
    return about(condition, (failure.empty() ? " does not hold" : " cannot be calculated: " + failure) +
                                values_text(parameters_, condition.parameters(), genotype));
  }
  return "";
}

/// Looks for genotypes to which the answer of each of these conditions is yes.
std::optional<SpaceConditions::Found> SpaceConditions::find(const std::vector<Condition>& conditions) const {
  const ExactSampler tables({parameters_, values_, conditions, classes_}, all_choices(), false);
  if (!tables.is_possible()) return std::nullopt;
  Found found{std::nullopt, {std::vector<std::uint32_t>(parameters_.size())}};
  RandomStream random(0);
  std::vector<bool> used(parameters_.size());
  const Bindings bindings{parameters_, found.example, classes_, used};
  for (int i = 0; i < kMostDraws; ++i) {
    tables.sample(random, found.example);
    if (tables.is_complete()) {
      found.count = tables.weight() * unnamed_count();
      return found;
    }
    const auto is_met = [&](const Condition& condition) { return condition.answer(bindings, values_); };
    if (std::ranges::all_of(conditions, is_met)) return found;
  }
  return std::nullopt;
}

std::vector<std::string> SpaceConditions::failures() const {
  std::vector<std::string> lines;
  int looked_at = 0;
  for (std::size_t i = 0; i < conditions_.size() && looked_at < kMostFailing; ++i) {
    if (!conditions_[i].may_fail()) continue;
    ++looked_at;
    std::vector<Condition> asked;
    for (std::size_t other = 0; other < conditions_.size(); ++other) {
      asked.push_back(conditions_[other].asking(
          other == i ? Question::kCannotBeCalculated : Question::kHoldsOrCannotBeCalculated,
          ConditionRules::kExact));
    }
    const std::optional<Found> found = find(asked);
    if (!found) continue;
    std::vector<bool> used(parameters_.size());
    const std::string failure = asked[i].failure({parameters_, found->example, classes_, used}, values_) +
                                values_text(parameters_, asked[i].parameters(), found->example);
    const std::string count = found->count ? count_text(*found->count) : "some";
    lines.push_back(about(asked[i], " cannot be calculated for " + count + " genotype" +
                                        (found->count == 1 ? "" : "s") + ", which are left out, e.g. " +
                                        failure));
  }
  return lines;
}

std::string SpaceConditions::difference_of_rules() const {
  const auto asking = [&](Question question, ConditionRules rules) {
    std::vector<Condition> asked;
    for (const Condition& condition : conditions_) asked.push_back(condition.asking(question, rules));
    return asked;
  };
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    if (conditions_[i].is_plain()) continue;
    for (const auto& [keeps, breaks] : {std::pair{ConditionRules::kBinary, ConditionRules::kExact},
                                        std::pair{ConditionRules::kExact, ConditionRules::kBinary}}) {
      std::vector<Condition> asked = asking(Question::kHolds, keeps);
      asked.push_back(conditions_[i].asking(Question::kDoesNotHold, breaks));
      const std::optional<Found> found = find(asked);
      if (!found) continue;
      return in_quotes(conditions_[i].expression().source().as_text()) +
             (keeps == ConditionRules::kBinary ? " held only before" : " holds only now") +
             values_text(parameters_, conditions_[i].parameters(), found->example);
    }
  }
  return "";
}

bool SpaceConditions::is_kept(const Genotype& genotype, const std::vector<bool>& marked) const {
  std::vector<bool> used(parameters_.size());
  const Bindings bindings{parameters_, genotype, classes_, used};
  return std::ranges::all_of(conditions_, [&](const Condition& condition) {
    const auto is_marked = [&](std::size_t p) { return marked[p]; };
    return !std::ranges::all_of(condition.parameters(), is_marked) || condition.answer(bindings, values_);
  });
}

bool SpaceConditions::holds_all(const Genotype& genotype) const {
  return is_kept(genotype, std::vector<bool>(parameters_.size(), true));
}

Domains SpaceConditions::all_choices() const {
  Domains choices(parameters_.size());
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (!named_[p]) continue;
    choices[p].resize(parameters_[p].values.size());
    for (std::uint32_t choice = 0; choice < choices[p].size(); ++choice) choices[p][choice] = choice;
  }
  return choices;
}

const ExactSampler& SpaceConditions::tables(bool weighted) const {
  std::optional<ExactSampler>& tables = weighted ? weighted_ : even_;
  std::call_once(weighted ? once_weighted_ : once_even_,
                 [&] { tables.emplace(conditioned(), all_choices(), weighted); });
  return *tables;
}

std::optional<long double> SpaceConditions::count() const {
  const ExactSampler& even = tables(false);
  if (!even.is_possible()) return 0;
  if (!even.is_complete()) return std::nullopt;
  return even.weight() * unnamed_count();
}

/// Returns the number of combinations of the parameters that no condition names.
long double SpaceConditions::unnamed_count() const {
  long double count = 1;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (!named_[p]) count *= static_cast<long double>(parameters_[p].values.size());
  }
  return count;
}

void SpaceConditions::sample_unnamed(RandomStream& random, Genotype& genotype, bool weighted) const {
  genotype.choices.resize(parameters_.size());
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (named_[p]) continue;
    const std::size_t choice =
        weighted ? random.weighted(parameters_[p].weights) : random.below(parameters_[p].values.size());
    genotype.choices[p] = static_cast<std::uint32_t>(choice);
  }
}

Genotype SpaceConditions::sample(RandomStream& random) const {
  const ExactSampler& weighted = tables(true);
  Genotype genotype;
  sample_unnamed(random, genotype, true);
  if (!weighted.is_possible()) return genotype;
  for (int i = 0; i < kMostDraws; ++i) {
    weighted.sample(random, genotype);
    if (weighted.is_complete() || holds_all(genotype)) return genotype;
  }
  for (int i = 0; i < kDescents && !holds_all(genotype); ++i) {
    weighted.sample(random, genotype);
    descend(random, genotype);
  }
  return genotype;
}

Genotype SpaceConditions::sample_evenly(RandomStream& random) const {
  const ExactSampler& even = tables(false);
  Genotype genotype;
  sample_unnamed(random, genotype, false);
  const bool is_exact = even.is_complete() && even.is_possible();
  if (is_exact) {
    even.sample(random, genotype);
    return genotype;
  }
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    if (named_[p])
      genotype.choices[p] = static_cast<std::uint32_t>(random.below(parameters_[p].values.size()));
  }
  return genotype;
}

double SpaceConditions::violation_about(std::size_t parameter, const Genotype& genotype) const {
  std::vector<bool> used(parameters_.size());
  const Bindings bindings{parameters_, genotype, classes_, used};
  double violation = 0;
  for (const Condition& condition : conditions_) {
    if (std::ranges::binary_search(condition.parameters(), parameter))
      violation += condition.violation(bindings, values_);
  }
  return violation;
}

/// Gives parameters of broken conditions random ones of the values that make the violation smaller, and now
/// and then any value.
void SpaceConditions::descend(RandomStream& random, Genotype& genotype) const {
  std::vector<bool> used(parameters_.size());
  for (int step = 0; step < kStepsOfADescent; ++step) {
    std::vector<const Condition*> broken;
    for (const Condition& condition : conditions_) {
      const bool can_change = !condition.parameters().empty();
      if (can_change && !condition.answer({parameters_, genotype, classes_, used}, values_)) {
        broken.push_back(&condition);
      }
    }
    if (broken.empty()) return;
    const std::vector<std::size_t>& named = broken[random.below(broken.size())]->parameters();
    const std::size_t parameter = named[random.below(named.size())];
    const std::size_t values = parameters_[parameter].values.size();
    const auto some_choice = [&] { return static_cast<std::uint32_t>(random.below(values)); };
    if (random.uniform() < kNoise) {
      genotype.choices[parameter] = some_choice();
      continue;
    }
    const std::uint32_t present = genotype.choices[parameter];
    const double before = violation_about(parameter, genotype);
    std::vector<std::uint32_t> better;
    std::vector<std::uint32_t> as_good{present};  // steps to another value that is as good cross plains
    for (std::size_t i = 0; i < std::min(values, kMostTried); ++i) {
      const std::uint32_t choice = values <= kMostTried ? static_cast<std::uint32_t>(i) : some_choice();
      genotype.choices[parameter] = choice;
      const double violation = violation_about(parameter, genotype);
      if (violation < before) better.push_back(choice);
      if (violation == before) as_good.push_back(choice);
    }
    const std::vector<std::uint32_t>& open = better.empty() ? as_good : better;
    genotype.choices[parameter] = open[random.below(open.size())];
  }
}

std::optional<Genotype> SpaceConditions::sample_within(const Domains& choices, RandomStream& random) const {
  Genotype genotype;
  Domains named(choices.size());
  for (std::size_t p = 0; p < choices.size(); ++p) {
    genotype.choices.push_back(choices[p][named_[p] ? 0 : random.below(choices[p].size())]);
    if (named_[p]) named[p] = choices[p];
  }
  const ExactSampler tables(conditioned(), std::move(named), false);
  if (!tables.is_possible()) return std::nullopt;
  for (int i = 0; i < kMostDrawsNear; ++i) {
    tables.sample(random, genotype);
    if (tables.is_complete() || holds_all(genotype)) return genotype;
  }
  return std::nullopt;
}

std::optional<Genotype> SpaceConditions::sample_near(const Genotype& genotype, const Domains& choices,
                                                     const std::vector<bool>& idle,
                                                     RandomStream& random) const {
  Domains domains = choices;
  std::vector<bool> is_free(parameters_.size());
  for (std::size_t p = 0; p < domains.size(); ++p) {
    is_free[p] = !domains[p].empty();
    if (!is_free[p]) domains[p] = {genotype.choices[p]};
  }
  const Domains all = all_choices();
  const auto free = [&](std::size_t p) {
    if (is_free[p] || !named_[p]) return false;
    is_free[p] = true;
    domains[p] = all[p];
    return true;
  };
  bool grows = true;
  for (bool is_first = true; grows; is_first = false) {
    if (auto drawn = sample_within(domains, random)) return drawn;
    grows = false;
    for (std::size_t p = 0; is_first && p < idle.size(); ++p) {
      if (idle[p]) grows = free(p) || grows;
    }
    if (grows) continue;
    std::set<std::size_t> next;
    for (const Condition& condition : conditions_) {
      const std::vector<std::size_t>& named = condition.parameters();
      if (std::ranges::any_of(named, [&](std::size_t p) { return is_free[p]; })) {
        next.insert(named.begin(), named.end());
      }
    }
    for (const std::size_t p : next) grows = free(p) || grows;
  }
  return std::nullopt;
}

}  // namespace skyline::space
