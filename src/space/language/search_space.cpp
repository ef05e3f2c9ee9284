#include "skyline/space/search_space.hpp"

#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"
#include "core/text/wording.hpp"
#include "space/language/parsed_space.hpp"
#include "space/language/space_keys.hpp"
#include "space/language/space_reader.hpp"
#include "space/quantized/int8_network.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

namespace skyline::space {
namespace {

constexpr std::int64_t kMostGenotypesTried = 1000;
constexpr std::size_t kMostStepsTried = 2'000'000;  // steps of building networks

// Returns Python's repr of a float, from which Archai's ids are made.
std::string python_text(double number) {
  const double size = std::abs(number);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                    plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer.data(), result.ptr);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

/// Refuses expressions that read a parameter which some genotype does not use. @throws UserError
void check_readers(const ParsedSpace& space, const std::vector<Expression>& conditions,
                   const std::vector<Expression>& given) {
  for (const Expression& condition : conditions) space.uses->check_reader(condition);
  for (const Expression& metric : given) space.uses->check_reader(metric);
  for (const SearchedValue& value : space.training) {
    space.uses->check_reader(value.source(), value.parameters(),
                             [&](const Bindings& bindings) { (void)value.evaluate(bindings); });
  }
}

bool all_numeric(const Parameter& parameter) {
  return std::ranges::all_of(parameter.values, [](const Value& value) {
    return is_number(value) || std::holds_alternative<bool>(value);
  });
}

}  // namespace

SearchSpace SearchSpace::parse(const ConfigNode& section, const DataShape& data,
                               const std::vector<ConfigNode>& training,
                               const std::vector<GivenExpression>& given,
                               const std::optional<ConfigNode>& int8) {
  return parse(section, data, training, given, int8, false, ConditionRules::kExact);
}

SearchSpace SearchSpace::read(const ConfigNode& section, const DataShape& data,
                              const std::vector<ConfigNode>& training, ConditionRules rules,
                              const std::vector<GivenExpression>& given,
                              const std::optional<ConfigNode>& int8) {
  return parse(section, data, training, given, int8, true, rules);
}

SearchSpace SearchSpace::parse(const ConfigNode& section, const DataShape& data,
                               const std::vector<ConfigNode>& training,
                               const std::vector<GivenExpression>& given,
                               const std::optional<ConfigNode>& int8, bool admits_missing_kinds,
                               ConditionRules rules) {
  const SpaceForm form = space_keys().parse(section);
  if (!form.file.is_null()) form.file.fail("the file of a space cannot name another one");
  const bool has_parameters = !form.parameters.is_null() && !form.parameters.entries().empty();
  const ConfigNode* network = has_parameters ? section.find("network") : &section.at("network");
  if (network != nullptr && network->is_null()) network->fail_expected("a list of layers");
  auto state = std::make_shared<ParsedSpace>();
  state->data = data;
  state->network_source = form.network;
  SpaceReader reader(form, data, admits_missing_kinds);
  std::vector<ConfigNode> scalars = training;
  std::ranges::sort(scalars, {},
                    &ConfigNode::path);  // ids list training values in one order, however they are written
  state->training = reader.read_outside(scalars);
  state->network = reader.read();
  const std::vector<Expression> conditions = reader.read_where();
  const std::vector<Expression> expressions = reader.read_given(given);
  const std::vector<std::optional<Expression>> uses = reader.read_when();
  state->parameters = reader.take_parameters();
  state->warnings = reader.warnings();
  state->uses.emplace(uses, state->parameters, data.classes);
  state->where.emplace(conditions, state->parameters, data.classes, rules);
  state->given.emplace(given, expressions, state->parameters, data.classes);
  check_readers(*state, conditions, expressions);
  state->registered_kinds.assign(reader.registered_kinds().begin(), reader.registered_kinds().end());
  const std::optional<ConfigNode> asks = int8 ? int8 : reader.asks_for_int8();
  state->has_int8_costs = asks && state->network != nullptr;
  if (state->has_int8_costs) {
    if (const auto problem = int8_problem(state->registered_kinds, "costs")) asks->fail(*problem);
  }
  SearchSpace space;
  if (state->where->count() == 0) {
    const std::vector<std::string> failures = state->where->failures();
    form.where.fail("no combination of parameters keeps all conditions" +
                    (failures.empty() ? "" : "; " + failures.front()));
  }
  space.state_ = std::move(state);
  if (!space.missing_kind()) space.check_some_network_builds();
  return space;
}

const std::vector<std::string>& SearchSpace::registered_kinds() const {
  return state_->registered_kinds;
}

bool SearchSpace::has_network() const {
  return state_->network != nullptr;
}

std::span<const NamedCost> SearchSpace::costs() const {
  if (!has_network()) return {};
  return std::span(kCosts).first(state_->has_int8_costs ? kCosts.size() : kFloatCosts);
}

std::optional<std::string> SearchSpace::missing_kind() const {
  for (const std::string& kind : state_->registered_kinds) {
    if (find_layer_kind(kind) == nullptr) return kind;
  }
  return std::nullopt;
}

// Tries architectures until one builds, so this costs next to nothing for a sound space. A space is refused
// only if no genotype of it is left to try: in a large one, those that can be built may be rare.
void SearchSpace::check_some_network_builds() const {
  RandomStream random(0);
  std::size_t steps = 0;
  std::set<std::string> problems;
  const auto builds = [&](const Genotype& genotype, BuildAttempt& attempt) {
    attempt = try_build(genotype);
    steps += attempt.steps;
    if (!attempt.architecture) problems.insert(attempt.problem);
    return attempt.architecture.has_value();
  };
  BuildAttempt attempt;
  if (genotype_count() > kMostGenotypesTried && builds(sample(random), attempt)) return;
  std::string first_problem;
  std::int64_t tried = 0;
  for (GenotypeWalk walk(*this); !walk.finished(); walk.advance(attempt.reads)) {
    if (tried++ == kMostGenotypesTried || steps > kMostStepsTried) return;
    if (builds(walk.current(), attempt)) return;
    if (tried == 1) first_problem = attempt.problem;
  }
  if (problems.size() == 1 || !has_network()) throw UserError(first_problem);
  state_->network_source.fail(
      "none of the " + std::to_string(genotype_count()) +
      " combinations of parameters builds a network; the first problem: " + first_problem);
}

const std::vector<std::string>& SearchSpace::warnings() const {
  return state_->warnings;
}

const std::vector<Parameter>& SearchSpace::parameters() const {
  return state_->parameters;
}

std::vector<std::string_view> SearchSpace::given() const {
  return state_->given->names();
}

const std::vector<std::string>& SearchSpace::counted() const {
  return state_->given->counted();
}

const DataShape& SearchSpace::data() const {
  return state_->data;
}

std::int64_t SearchSpace::genotype_count() const {
  std::int64_t count = 1;
  for (const Parameter& parameter : state_->parameters) {
    const auto values = static_cast<std::int64_t>(parameter.values.size());
    if (__builtin_mul_overflow(count, values, &count)) return std::numeric_limits<std::int64_t>::max();
  }
  return count;
}

Genotype SearchSpace::genotype_at(std::int64_t number) const {
  require(number >= 0 && number < genotype_count(), "genotype_at: no such genotype");
  Genotype genotype;
  genotype.choices.resize(state_->parameters.size());
  for (std::size_t i = state_->parameters.size(); i > 0; --i) {
    const auto values = static_cast<std::int64_t>(state_->parameters[i - 1].values.size());
    genotype.choices[i - 1] = static_cast<std::uint32_t>(number % values);
    number /= values;
  }
  return genotype;
}

std::optional<long double> SearchSpace::count_kept() const {
  return state_->where->count();
}

bool SearchSpace::has_conditions() const {
  return !state_->where->empty();
}

std::vector<std::string> SearchSpace::failing_conditions() const {
  return state_->where->failures();
}

std::string SearchSpace::difference_of_rules() const {
  return state_->where->difference_of_rules();
}

std::vector<bool> SearchSpace::in_use(const Genotype& genotype) const {
  return state_->uses->used(genotype);
}

std::vector<std::string> SearchSpace::conditional() const {
  std::vector<std::string> names;
  for (std::size_t p = 0; p < state_->parameters.size(); ++p) {
    if (state_->uses->has_condition(p)) names.push_back(state_->parameters[p].name);
  }
  return names;
}

Genotype SearchSpace::sample_evenly(RandomStream& random) const {
  return state_->uses->canonical(state_->where->sample_evenly(random));
}

Genotype SearchSpace::sample(RandomStream& random) const {
  if (!state_->where->empty()) return state_->uses->canonical(state_->where->sample(random));
  Genotype genotype;
  for (const Parameter& parameter : state_->parameters) {
    genotype.choices.push_back(static_cast<std::uint32_t>(random.weighted(parameter.weights)));
  }
  return state_->uses->canonical(std::move(genotype));
}

Architecture SearchSpace::build(const Genotype& genotype) const {
  BuildAttempt attempt = try_build(genotype);
  if (!attempt.architecture) throw UserError(attempt.problem);
  return *std::move(attempt.architecture);
}

BuildAttempt SearchSpace::try_build(const Genotype& written) const {
  BuildAttempt attempt;
  state_->check(written);
  attempt.reads.resize(state_->parameters.size());
  const Genotype genotype = state_->uses->canonical(written, attempt.reads);
  attempt.problem = state_->where->problem(genotype, attempt.reads);
  if (!attempt.problem.empty()) return attempt;
  NetworkBuilder builder(state_->data);
  std::vector<bool> used;
  try {
    Architecture::Parts parts = state_->build(genotype, used, builder);
    const ArchId id = state_->id_of(genotype, used, parts);
    attempt.architecture.emplace(id, genotype, used, std::move(parts), state_);
  } catch (const UserError& problem) {
    attempt.problem = problem.what();
  }
  attempt.steps = builder.steps();
  for (std::size_t p = 0; p < used.size(); ++p) {
    if (used[p]) attempt.reads[p] = true;
  }
  return attempt;
}

std::string SearchSpace::describe(const Genotype& genotype) const {
  const std::vector<bool> used = in_use(genotype);
  std::string text;
  for (std::size_t i = 0; i < state_->parameters.size(); ++i) {
    if (!used.at(i)) continue;
    const Parameter& parameter = state_->parameters[i];
    if (!text.empty()) text += ' ';
    text += parameter.name + '=' + to_text(parameter.values.at(genotype.choices.at(i)));
  }
  return text;
}

std::string SearchSpace::archai_id(const Architecture& architecture) const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < state_->parameters.size(); ++i) {
    const Parameter& parameter = state_->parameters[i];
    const std::uint32_t choice = architecture.genotype.choices.at(i);
    const bool used = architecture.used.at(i);
    if (all_numeric(parameter)) {
      parts.push_back(used ? python_text(as_number(parameter.values[choice])) : "nan");
      continue;
    }
    for (std::size_t value = 0; value < parameter.values.size(); ++value) {
      parts.push_back(!used ? "nan" : value == choice ? "1.0" : "0.0");
    }
  }
  return sha1_hex("(" + joined(parts) + (parts.size() == 1 ? ",)" : ")"));
}

}  // namespace skyline::space
