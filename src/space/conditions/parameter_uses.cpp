#include "space/conditions/parameter_uses.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "space/expressions/combinations.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace skyline::space {
namespace {

constexpr double kMostReadCombinations = 1e6;  // a fraction of a second
constexpr int kIsBeingAdded = 1;
constexpr int kIsAdded = 2;

bool is_true_operand(const Operand& operand) {
  const bool* flag = std::get_if<bool>(&operand);
  return flag != nullptr && *flag;
}

double number_of_combinations(const std::vector<Parameter>& parameters,
                              const std::vector<std::size_t>& varied) {
  double product = 1;
  for (const std::size_t p : varied) product *= static_cast<double>(parameters[p].values.size());
  return product;
}

}  // namespace

ParameterUses::ParameterUses(const std::vector<std::optional<Expression>>& written,
                             const std::vector<Parameter>& parameters, std::int64_t classes)
    : parameters_(parameters), classes_(classes), values_(parameters) {
  std::vector<int> states(parameters.size());
  for (std::size_t p = 0; p < written.size(); ++p) add(p, written, states);
}

/// Adds the condition of a parameter after those of the parameters that it names.
void ParameterUses::add(std::size_t parameter, const std::vector<std::optional<Expression>>& written,
                        std::vector<int>& states) {
  if (!written[parameter] || states[parameter] == kIsAdded) return;
  const Expression& expression = *written[parameter];
  if (states[parameter] == kIsBeingAdded) {
    expression.source().fail("whether " + in_quotes(parameters_[parameter].name) +
                             " is used depends on itself: expected conditions without a circle, got " +
                             in_quotes(expression.source().as_text()));
  }
  states[parameter] = kIsBeingAdded;
  for (const std::size_t named : expression.parameters()) {
    add(named, written, states);
    values_.add(named);
    values_.add_operands(named);
  }
  ConditionTerm condition(*expression.root(), values_, classes_, expression.source());
  if (condition.kinds() != ConditionValues::kFlag || expression.parameters().empty())
    expression.source().fail_expected("a condition on other parameters, for example $optimizer == sgd");
  steps_.push_back({parameter, expression, std::move(condition)});
  states[parameter] = kIsAdded;
  check_holds_once(steps_.back());
}

/// Refuses a condition that holds for no genotype, e.g. for a word that is misspelt.
void ParameterUses::check_holds_once(const Step& step) const {
  const std::vector<std::size_t> varied = with_conditions(step.expression.parameters());
  if (number_of_combinations(parameters_, varied) > kMostReadCombinations) return;
  Combinations combinations(parameters_, varied);
  do {
    if (used(combinations.current())[step.parameter]) return;
  } while (combinations.advance());
  step.expression.source().fail("never holds, so that no trial uses " +
                                in_quotes(parameters_[step.parameter].name) +
                                ": expected a condition that holds for some values, got " +
                                in_quotes(step.expression.source().as_text()));
}

std::vector<bool> ParameterUses::used(const Genotype& genotype, std::vector<bool>& reads) const {
  std::vector<bool> used(parameters_.size(), true);
  const Bindings bindings{parameters_, genotype, classes_, reads, nullptr, &used};
  for (const Step& step : steps_)
    used[step.parameter] = is_true_operand(step.condition.calculate(bindings, values_));
  return used;
}

std::vector<bool> ParameterUses::used(const Genotype& genotype) const {
  std::vector<bool> reads(parameters_.size());
  return used(genotype, reads);
}

Genotype ParameterUses::canonical(Genotype genotype, std::vector<bool>& reads) const {
  if (empty()) return genotype;
  const std::vector<bool> is_used = used(genotype, reads);
  for (std::size_t p = 0; p < is_used.size(); ++p) {
    if (!is_used[p]) genotype.choices[p] = 0;
  }
  return genotype;
}

Genotype ParameterUses::canonical(Genotype genotype) const {
  std::vector<bool> reads(parameters_.size());
  return canonical(std::move(genotype), reads);
}

Genotype ParameterUses::with_drawn(Genotype genotype, RandomStream& random) const {
  if (empty()) return genotype;
  const std::vector<bool> is_used = used(genotype);
  for (std::size_t p = 0; p < is_used.size(); ++p) {
    if (!is_used[p])
      genotype.choices[p] = static_cast<std::uint32_t>(random.below(parameters_[p].values.size()));
  }
  return genotype;
}

const ParameterUses::Step* ParameterUses::step_of(std::size_t parameter) const {
  const auto found = std::ranges::find(steps_, parameter, &Step::parameter);
  return found == steps_.end() ? nullptr : &*found;
}

/// Returns these parameters, and all on which it depends whether they are used, ascending.
std::vector<std::size_t> ParameterUses::with_conditions(const std::vector<std::size_t>& named) const {
  std::set<std::size_t> all;
  std::vector<std::size_t> open = named;
  while (!open.empty()) {
    const std::size_t p = open.back();
    open.pop_back();
    if (!all.insert(p).second) continue;
    if (const Step* step = step_of(p)) {
      const std::vector<std::size_t>& more = step->expression.parameters();
      open.insert(open.end(), more.begin(), more.end());
    }
  }
  return {all.begin(), all.end()};
}

void ParameterUses::check_reader(const Expression& expression) const {
  ConditionValues values(parameters_);
  for (const std::size_t p : expression.parameters()) {
    values.add(p);
    values.add_operands(p);
  }
  const ConditionTerm term(*expression.root(), values, classes_, expression.source());
  check_reader(expression.source(), expression.parameters(),
               [&](const Bindings& bindings) { (void)term.calculate(bindings, values); });
}

void ParameterUses::check_reader(const ConfigNode& source, const std::vector<std::size_t>& named,
                                 const std::function<void(const Bindings& bindings)>& read) const {
  if (std::ranges::none_of(named, [&](std::size_t p) { return has_condition(p); })) return;
  const std::vector<std::size_t> varied = with_conditions(named);
  if (number_of_combinations(parameters_, varied) > kMostReadCombinations) {
    source.fail(
        "names a parameter that is not always used, and depends on more than 1,000,000 combinations "
        "of values: expected fewer parameters, or fewer values of them");
  }
  Combinations combinations(parameters_, varied);
  do {
    const Genotype& genotype = combinations.current();
    const std::vector<bool> is_used = used(genotype);
    std::vector<bool> reads(parameters_.size());
    try {
      read({parameters_, genotype, classes_, reads});
    } catch (const UserError&) {  // no value for this genotype
    }
    const auto wrong = std::ranges::find_if(named, [&](std::size_t p) { return reads[p] && !is_used[p]; });
    if (wrong == named.end()) continue;
    std::vector<std::size_t> shown = varied;
    std::erase_if(shown, [&](std::size_t p) { return !is_used[p]; });
    const std::string text = step_of(*wrong)->expression.source().as_text();
    source.fail("reads " + in_quotes('$' + parameters_[*wrong].name) + " where it is not used" +
                values_text(parameters_, shown, genotype) +
                ": expected what is then, for example with `not (" + text + ") or`, or `if(" + text +
                ", ..., ...)`");
  } while (combinations.advance());
}

}  // namespace skyline::space
