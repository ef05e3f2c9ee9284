#include "app/models/named_architecture.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "core/config/config_text.hpp"
#include "core/config/foreign_words.hpp"
#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

/// Returns the length of the text of sides, `[10, 4]`, with which a text begins; 0 if it does not.
std::size_t length_of_sides(std::string_view text) {
  const std::size_t end = text.find(']');
  return end != std::string_view::npos && space::parse_sides(text.substr(0, end + 1)) ? end + 1 : 0;
}

/// Returns a value as --genotype has it: in quotes where it would end early without them.
std::string spelling(const space::Value& value) {
  const std::string text = space::to_text(value);
  const bool is_plain =
      text.find(',') == std::string::npos && !text.starts_with('"') && !text.starts_with('\'');
  if (is_plain || length_of_sides(text) == text.size()) return text;
  const char quote = text.find('"') == std::string::npos ? '"' : '\'';
  return quote + text + quote;
}

/// A value as it is given, also as a number if it is one without quotes.
struct GivenValue {
  std::string text;
  std::optional<double> number = std::nullopt;
};

/// Cuts off the value with which a text begins: sides, up to a comma, or in quotes, where a quote that is
/// written twice is one of the value.
GivenValue consume_value(std::string_view& rest) {
  GivenValue value;
  const bool is_quoted = rest.starts_with('"') || rest.starts_with('\'');
  std::size_t end = is_quoted ? 0 : std::min(rest.find(',', length_of_sides(rest)), rest.size());
  if (!is_quoted) value = {std::string(rest.substr(0, end)), parse_number(rest.substr(0, end))};
  for (bool is_open = is_quoted; is_open;) {
    const std::size_t begin = end + 1;
    end = rest.find(rest.front(), begin);
    if (end == std::string_view::npos) throw UserError("--genotype: a quote is not closed");
    is_open = rest.substr(++end).starts_with(rest.front());
    value.text += rest.substr(begin, end - begin - (is_open ? 0 : 1));
  }
  rest.remove_prefix(end);
  if (!rest.empty() && rest.front() != ',') {
    throw UserError("--genotype: expected a comma behind a value in quotes, got " + std::string(rest));
  }
  rest.remove_prefix(rest.empty() ? 0 : 1);
  return value;
}

std::uint32_t choice_in(const space::Parameter& parameter, const GivenValue& value) {
  if (const auto choice = space::choice_of(parameter, value.text, value.number)) return *choice;
  std::vector<std::string> known;
  for (const space::Value& one : parameter.values) known.push_back(spelling(one));
  throw UserError("--genotype: " + parameter.name + " is never " + value.text + ", " +
                  suggestion(value.text, known, NamesOf::kUser));
}

/// The values that --genotype gives, by parameter.
using GivenChoices = std::vector<std::optional<std::uint32_t>>;

GivenChoices read_genotype(const std::vector<space::Parameter>& parameters, const std::string& genotype) {
  GivenChoices given(parameters.size());
  for (std::string_view rest = genotype; !rest.empty();) {
    const std::string assignment(rest.substr(0, rest.find(',')));
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      throw UserError("--genotype: expected name=value, e.g. depth=3,kernel=5, got " + assignment);
    }
    const std::string name = assignment.substr(0, equals);
    const auto parameter = std::ranges::find(parameters, name, &space::Parameter::name);
    if (parameter == parameters.end()) {
      std::vector<std::string> known;
      for (const space::Parameter& one : parameters) known.push_back(one.name);
      throw UserError("--genotype: the space has no parameter `" + name + "`, " +
                      suggestion(name, known, NamesOf::kUser));
    }
    rest.remove_prefix(equals + 1);
    given[static_cast<std::size_t>(parameter - parameters.begin())] =
        choice_in(*parameter, consume_value(rest));
  }
  return given;
}

/// Returns whether all marked parameters have a given value.
bool gives_all(const GivenChoices& given, const std::vector<bool>& marked) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (marked[i] && !given[i]) return false;
  }
  return true;
}

/// Draws a genotype that uses the given values, or returns nullopt if `where` or `when` kept one of them out.
/// They are put in in random order, since each may change others that share a condition with it.
std::optional<space::Genotype> draw_with(const space::SearchSpace& space, const GivenChoices& given,
                                         RandomStream& random) {
  space::Genotype drawn = space.sample(random);
  std::vector<std::size_t> order(given.size());
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(std::span(order));
  for (const std::size_t i : order) {
    if (!given[i] || drawn.choices[i] == *given[i]) continue;
    auto changed = space.with_choice(drawn, i, *given[i], random);
    if (!changed) return std::nullopt;
    drawn = std::move(*changed);
  }
  const std::vector<bool> in_use = space.in_use(drawn);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] && (!in_use[i] || drawn.choices[i] != *given[i])) return std::nullopt;
  }
  return drawn;
}

space::Architecture draw_architecture(const RunConfig& config, const GivenChoices& given) {
  constexpr int kMostTries = 10'000;
  RandomStream random(derive_seed(config.sections.run.seed, "app.genotype"));
  std::string problem = "its values break `where`, or one is not used beside the others";
  for (int i = 0; i < kMostTries; ++i) {
    const auto drawn = draw_with(config.space, given, random);
    if (!drawn) continue;
    space::BuildAttempt attempt = config.space.try_build(*drawn);
    if (!attempt.architecture) {
      problem = attempt.problem;
      if (gives_all(given, attempt.reads)) break;
    } else if (config.objectives.feasible(*attempt.architecture)) {
      return std::move(*attempt.architecture);
    } else {
      problem = "its costs break the constraints";
      if (gives_all(given, attempt.reads)) break;
    }
  }
  throw UserError("--genotype: found no valid architecture with these values; the last one tried: " +
                  problem);
}

}  // namespace

space::Architecture named_architecture(const RunConfig& config, const std::string& genotype) {
  const space::SearchSpace& space = config.space;
  const GivenChoices given = read_genotype(space.parameters(), genotype);
  space::Genotype named{std::vector<std::uint32_t>(given.size())};
  for (std::size_t i = 0; i < given.size(); ++i) named.choices[i] = given[i].value_or(0);
  space::BuildAttempt attempt = space.try_build(named);
  if (attempt.architecture && gives_all(given, attempt.architecture->used))
    return std::move(*attempt.architecture);
  if (!attempt.architecture && gives_all(given, attempt.reads)) throw UserError(attempt.problem);
  space::Architecture architecture = draw_architecture(config, given);
  std::string drawn;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] || !architecture.used[i]) continue;
    const space::Parameter& parameter = space.parameters()[i];
    drawn += ' ' + parameter.name + '=' + space::to_text(parameter.values[architecture.genotype.choices[i]]);
  }
  if (!drawn.empty()) say("--genotype: drawn, since it is not given:" + drawn);
  return architecture;
}

}  // namespace skyline::app
