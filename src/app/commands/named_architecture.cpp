#include "app/commands/named_architecture.hpp"

#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>
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

}  // namespace

space::Architecture named_architecture(const space::SearchSpace& space, const std::string& genotype) {
  const std::vector<space::Parameter>& parameters = space.parameters();
  space::Genotype choices{std::vector<std::uint32_t>(parameters.size())};
  std::vector<bool> given(parameters.size());
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
    const auto index = static_cast<std::size_t>(parameter - parameters.begin());
    choices.choices[index] = choice_of(*parameter, assignment.substr(equals + 1));
    given[index] = true;
  }
  space::Architecture architecture = space.build(choices);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!architecture.used[i] || given[i]) continue;
    throw UserError("--genotype: the " + std::string(space.has_network() ? "network uses " : "space has ") +
                    parameters[i].name + ", give it a value");
  }
  return architecture;
}

}  // namespace skyline::app
