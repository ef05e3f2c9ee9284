// Names and parameters: the meaning of a `$name` at a place.
#include "space/language/space_reader.hpp"

#include "core/text/foreign_text.hpp"
#include "space/expressions/combinations.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace skyline::space {
namespace {

constexpr std::size_t kMostParameters = 500;  // more parameters would make the records of trials too large
constexpr std::size_t kMostLetters = 60'000;  // letters of all names and kLettersOfAParameter for each
constexpr std::size_t kLettersOfAParameter = 60;  // bytes that describe a column besides its name
constexpr std::size_t kMostCombinations = 10'000;
constexpr std::size_t kMostSteps = 50'000'000;  // steps of reading, about a second
constexpr std::size_t kStepsOfAParameter = 2'500;
constexpr std::size_t kStepsOfAValue = 25;

}  // namespace

SpaceReader::SpaceReader(const SpaceForm& form, const DataShape& data, bool admits_missing_kinds)
    : form_(form), data_(data), admits_missing_kinds_(admits_missing_kinds) {
  declare_parameters();
}

SearchedValue SpaceReader::read_outside(const ConfigNode& value) {
  const std::size_t shared = parameters_.size();
  reading_ = place_of(value);
  SearchedValue read(value, parameters_,
                     [this](const ConfigNode& scalar) { return expression(scalar, TreePosition{}); });
  if (parameters_.size() == shared) return read;
  value.fail(in_quotes('$' + parameters_.back().name) +
             " has no single value: its parameter says `each: true`, and has one at every place");
}

std::vector<SearchedValue> SpaceReader::read_outside(const std::vector<ConfigNode>& values) {
  std::vector<SearchedValue> read;
  for (const ConfigNode& value : values) {
    problems_.attempt([&] { read.push_back(read_outside(value)); });
  }
  return read;
}

ItemPointer SpaceReader::read() {
  ItemPointer network;
  try {
    if (has_network()) {
      read_blocks();
      problems_.attempt([&] { network = layers(form_.network, TreePosition{}); });
    } else {
      problems_.attempt([&] { check_parameters_alone(); });
    }
    if (problems_.empty()) problems_.attempt([&] { check_places(); });
  } catch (const SpaceTooLarge& problem) {
    problems_.add(problem.what());
  }
  problems_.throw_if_any();
  return network;
}

Expression SpaceReader::read_of_parameters(const ConfigNode& scalar, Names& names,
                                           const std::string& expected) {
  reading_ = place_of(scalar);
  if (!scalar.is_scalar()) scalar.fail_expected(expected);
  count_steps(scalar.as_text().size());
  Expression read = Expression::parse(scalar, names);
  if (data_.classes == 0 && reads_classes(*read.root())) scalar.fail("`$classes` needs data: give `data`");
  return read;
}

std::vector<Expression> SpaceReader::read_where() {
  std::vector<Expression> conditions;
  if (form_.where.is_null()) return conditions;
  const auto read_one = [&](const ConfigNode& scalar) {
    conditions.push_back(read_condition(scalar, "$w2 >= $w1"));
  };
  read_conditions([&] {
    if (!form_.where.is_list()) problems_.attempt([&] { read_one(form_.where); });
    for (const ConfigNode& scalar : form_.where.is_list() ? form_.where.items() : std::vector<ConfigNode>()) {
      problems_.attempt([&] { read_one(scalar); });
    }
  });
  return conditions;
}

std::vector<std::optional<Expression>> SpaceReader::read_when() {
  std::vector<std::optional<Expression>> conditions(parameters_.size());
  const auto read_one = [&](const DeclaredParameter& declared) {
    if (has_network()) {
      declared.when.fail(
          "a network says itself which parameters it uses: `when` beside a parameter is for spaces "
          "without a network");
    }
    conditions[parameter_index_.at(declared.parameter.name)] =
        read_condition(declared.when, "$optimizer == sgd");
  };
  read_conditions([&] {
    for (const DeclaredParameter& declared : declared_) {
      if (!declared.when.is_null()) problems_.attempt([&] { read_one(declared); });
    }
  });
  return conditions;
}

Expression SpaceReader::read_condition(const ConfigNode& scalar, const std::string& example) {
  ParameterNames names(*this);
  return read_of_parameters(scalar, names, "a condition, for example " + example);
}

void SpaceReader::read_conditions(const std::function<void()>& read) {
  try {
    read();
  } catch (const SpaceTooLarge& problem) {
    problems_.add(problem.what());
  }
  problems_.throw_if_any();
}

std::vector<Expression> SpaceReader::read_given(const std::vector<GivenExpression>& given) {
  std::vector<Expression> expressions;
  for (const GivenExpression& metric : given) {
    if (metric.source.is_null()) continue;
    problems_.attempt([&] {
      GivenNames names(*this, metric.source);
      expressions.push_back(read_of_parameters(metric.source, names, kGivenExample));
    });
  }
  // Unused parameters are looked for only if all was read: what was refused may be their user.
  if (problems_.empty()) problems_.attempt([&] { check_used(); });
  problems_.throw_if_any();
  return expressions;
}

std::optional<Names::Meaning> SpaceReader::ParameterNames::find(const std::string& name) {
  const auto found = reader_.parameter_index_.find(name);
  if (found == reader_.parameter_index_.end()) return std::nullopt;
  return Meaning{parameter_part(found->second)};
}

std::vector<std::string> SpaceReader::ParameterNames::known() const {
  std::vector<std::string> known;
  for (const Parameter& parameter : reader_.parameters_) known.push_back(parameter.name);
  return known;
}

std::optional<Names::Meaning> SpaceReader::GivenNames::find(const std::string& name) {
  const std::optional<Meaning> parameter = ParameterNames::find(name);
  const auto cost = std::ranges::find(kCosts, name, &NamedCost::name);
  if (parameter) reader_.note_used(name);
  if (!reader_.has_network() || cost == kCosts.end()) return parameter;
  if (parameter) {
    scalar_.fail(in_quotes('$' + name) +
                 " is a parameter of the space and a cost of its networks: give the parameter another name");
  }
  const auto index = static_cast<std::size_t>(cost - kCosts.begin());
  if (index >= kFloatCosts && !reader_.asks_for_int8_) reader_.asks_for_int8_ = scalar_;
  return Meaning{cost_part(index)};
}

std::vector<std::string> SpaceReader::GivenNames::known() const {
  std::vector<std::string> known = ParameterNames::known();
  for (const NamedCost& cost : kCosts) {
    if (reader_.has_network()) known.emplace_back(cost.name);
  }
  return known;
}

std::vector<std::string> SpaceReader::warnings() const {
  std::vector<std::string> warnings;
  for (const DeclaredParameter& declared : declared_) {
    if (!declared.warning.empty()) warnings.push_back(declared.warning);
  }
  return warnings;
}

void SpaceReader::count_steps(std::size_t steps) {
  steps_ += steps;
  if (steps_ <= kMostSteps) return;
  try {
    reading_.fail(
        "the space takes too long to read: it has too many names or items once its blocks are put in where "
        "they are used, or parameters of many values in too many places");
  } catch (const UserError& placed) {
    throw SpaceTooLarge(placed.what());
  }
}

void SpaceReader::declare_parameters() {
  if (form_.parameters.is_null()) return;
  const std::size_t count = form_.parameters.entries().size();
  if (count > kMostParameters) {
    form_.parameters.fail("expected at most " + std::to_string(kMostParameters) + " parameters, got " +
                          std::to_string(count));
  }
  declared_ = read_parameters(form_.parameters);
  used_.resize(declared_.size());
  for (const DeclaredParameter& declared : declared_) {
    if (!declared.problem.empty()) {
      problems_.add(declared.problem);
    } else if (!declared.each) {
      parameter_at(declared.parameter.name, declared.parameter);
    }
  }
}

std::optional<Names::Meaning> SpaceReader::meaning(const std::string& name, const TreePosition& place) {
  if (const auto inner = place.names.find(name); inner != place.names.end()) {
    if (inner->second.repeat) repeats_[*inner->second.repeat] = true;
    return inner->second.meaning;
  }
  count_steps(declared_.size());
  for (std::size_t i = 0; i < declared_.size(); ++i) {
    const DeclaredParameter& declared = declared_[i];
    if (declared.parameter.name != name) continue;
    used_[i] = true;
    if (!declared.problem.empty()) throw UserError(declared.problem);
    const std::size_t index = parameter_at(name + path_of_each(declared.each, place), declared.parameter);
    return Names::Meaning{parameter_part(index)};
  }
  return std::nullopt;
}

std::vector<std::string> SpaceReader::known_names(const TreePosition& place) const {
  std::vector<std::string> known;
  for (const auto& [name, meaning] : place.names) known.push_back(name);
  for (const DeclaredParameter& declared : declared_) {
    if (declared.problem.empty()) known.push_back(declared.parameter.name);
  }
  return known;
}

std::string SpaceReader::path_of_each(bool each, const TreePosition& place) {
  if (!each) return "";
  repeats_.assign(repeats_.size(), true);
  return place.path;
}

std::size_t SpaceReader::parameter_at(const std::string& name, const Parameter& like) {
  const auto [entry, added] = parameter_index_.try_emplace(name, parameters_.size());
  if (!added) return entry->second;
  count_steps(kStepsOfAParameter + kStepsOfAValue * like.values.size() + name.size());
  parameters_.push_back({name, like.values, like.weights});
  return entry->second;
}

std::string SpaceReader::choice_name(const ConfigNode& given, const std::string& kind,
                                     const ConfigNode& source) {
  const auto is_free = [&](const std::string& name) {
    const bool declared = std::ranges::any_of(
        declared_, [&](const DeclaredParameter& one) { return one.parameter.name == name; });
    const auto owner = choice_sources_.find(name);
    return !declared && (owner == choice_sources_.end() || owner->second == source.path());
  };
  if (!given.is_null()) {
    if (!is_free(given.as_text())) {
      given.fail("another choice or parameter has the name " + in_quotes(given.as_text()));
    }
    choice_sources_[given.as_text()] = source.path();
    return given.as_text();
  }
  const auto [name, is_new] = choice_names_.try_emplace(source.path());
  while (is_new && (name->second.empty() || !is_free(name->second))) {
    name->second = kind + '_' + std::to_string(choices_[kind]++);
  }
  choice_sources_[name->second] = source.path();
  return name->second;
}

Expression SpaceReader::expression(const ConfigNode& scalar, const TreePosition& place) {
  PlaceNames names(*this, place);
  if (scalar.is_scalar()) count_steps(scalar.as_text().size());
  return Expression::parse(scalar, names);
}

std::vector<Value> SpaceReader::values_of(const Expression& expression) {
  Combinations combinations(parameters_, expression.parameters());
  std::vector<bool> used(parameters_.size());
  std::vector<Value> values;
  std::set<Value> known;
  std::optional<UserError> problem;
  for (std::size_t i = 0; i < kMostCombinations; ++i) {
    count_steps(expression.root()->size);
    try {
      Value value = expression.evaluate({parameters_, combinations.current(), data_.classes, used});
      if (known.insert(value).second) values.push_back(std::move(value));
    } catch (const UserError& error) {
      if (!problem) problem = error;
    }
    if (combinations.advance()) continue;
    if (problem && (values.empty() || expression.parameters().size() <= 1)) throw *problem;
    return values;
  }
  expression.source().fail("depends on more than " + std::to_string(kMostCombinations) +
                           " combinations of parameters");
}

/// Refuses what has a meaning in networks only.
void SpaceReader::check_parameters_alone() const {
  if (!form_.blocks.is_null()) form_.blocks.fail("nothing uses blocks: the space has no network");
  for (const DeclaredParameter& declared : declared_) {
    if (!declared.each) continue;
    declared.source.fail(
        "`each: true` gives a value to every place of a network, which this "
        "space does not have");
  }
}

void SpaceReader::note_used(const std::string& name) {
  for (std::size_t i = 0; i < declared_.size(); ++i) {
    if (declared_[i].parameter.name == name) used_[i] = true;
  }
}

void SpaceReader::check_used() const {
  for (std::size_t i = 0; has_network() && i < declared_.size(); ++i) {
    if (used_[i] || !declared_[i].problem.empty()) continue;
    const std::string name = shortened(declared_[i].parameter.name);
    declared_[i].source.fail("nothing uses this parameter; write $" + name +
                             " in the network or in the evaluator's section, or leave the parameter out");
  }
}

void SpaceReader::check_places() const {
  // They are the names of the columns of run.h5, whose description HDF5 limits to 64 KB.
  std::size_t letters = 0;
  for (const Parameter& parameter : parameters_) letters += parameter.name.size();
  if (parameters_.size() <= kMostParameters &&
      letters + kLettersOfAParameter * parameters_.size() > kMostLetters) {
    form_.parameters.fail("the names of the space's " + std::to_string(parameters_.size()) +
                          " parameters have " + std::to_string(letters) +
                          " letters in all, with their places, which is too long for run.h5; expected " +
                          std::to_string(kMostLetters - kLettersOfAParameter * parameters_.size()) +
                          " at most");
  }
  if (parameters_.size() <= kMostParameters) return;
  form_.network.fail("the space has " + std::to_string(parameters_.size()) +
                     " parameters, with one for each place of those with `each: true`; expected " +
                     std::to_string(kMostParameters) + " at most");
}

}  // namespace skyline::space
