#include "app/models/named_architecture.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "core/text/wording.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <optional>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

std::uint32_t choice_of(const space::Parameter& parameter, const std::string& text) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    known.push_back(space::to_text(parameter.values[i]));
    if (known.back() == text) return static_cast<std::uint32_t>(i);
  }
  throw UserError("--genotype: " + parameter.name + " is never " + text + ", " + suggestion(text, known));
}

/// The values that --genotype gives, by parameter.
using GivenChoices = std::vector<std::optional<std::uint32_t>>;

GivenChoices read_genotype(const std::vector<space::Parameter>& parameters, const std::string& genotype) {
  GivenChoices given(parameters.size());
  std::istringstream stream(genotype);
  for (std::string assignment; std::getline(stream, assignment, ',');) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      throw UserError("--genotype: expected name=value, e.g. depth=3,kernel=5, got " + assignment);
    }
    const std::string name = assignment.substr(0, equals);
    const auto parameter = std::ranges::find(parameters, name, &space::Parameter::name);
    if (parameter == parameters.end()) {
      std::vector<std::string> known;
      for (const space::Parameter& one : parameters) known.push_back(one.name);
      throw UserError("--genotype: the space has no parameter `" + name + "`, " + suggestion(name, known));
    }
    given[static_cast<std::size_t>(parameter - parameters.begin())] =
        choice_of(*parameter, assignment.substr(equals + 1));
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

/// Draws a genotype with the given values, or returns nullopt if `where` kept one of them out. They are put
/// in in random order, since each may change others that share a condition with it.
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
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] && drawn.choices[i] != *given[i]) return std::nullopt;
  }
  return drawn;
}

space::Architecture draw_architecture(const RunConfig& config, const GivenChoices& given) {
  constexpr int kMostTries = 10'000;
  RandomStream random(derive_seed(config.sections.run.seed, "app.genotype"));
  std::string problem = "its values break `where`";
  for (int i = 0; i < kMostTries; ++i) {
    const auto drawn = draw_with(config.space, given, random);
    if (!drawn) continue;
    space::BuildAttempt attempt = config.space.try_build(*drawn);
    if (!attempt.architecture) {
      problem = attempt.problem;
      if (gives_all(given, attempt.reads)) break;
    } else if (config.objectives.feasible(attempt.architecture->cost)) {
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
  if (!drawn.empty()) std::cerr << "skyline: --genotype: drawn, since it is not given:" << drawn << std::endl;
  return architecture;
}

}  // namespace skyline::app
