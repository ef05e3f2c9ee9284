#include "evaluate/table/row_names.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace skyline::evaluate {
namespace {

constexpr std::size_t kMostSteps = 10'000;  // values that fit, for one name
constexpr std::size_t kMostFound = 2;       // more than one is ambiguous

}  // namespace

RowNames::RowNames(const std::string& form, const std::vector<space::Parameter>& parameters) {
  std::vector<std::string> known;
  for (const space::Parameter& parameter : parameters) {
    known.push_back(parameter.name);
    std::vector<std::string>& texts = values_.emplace_back();
    for (const space::Value& value : parameter.values) texts.push_back(space::to_text(value));
  }
  std::vector<bool> named(parameters.size());
  Part part;
  for (std::size_t i = 0; i < form.size();) {
    if (form[i] != '$') {
      part.literal += form[i++];
      continue;
    }
    const bool braced = form.compare(i, 2, "${") == 0;
    const std::string_view rest = std::string_view(form).substr(i + (braced ? 2 : 1));
    std::optional<std::size_t> found;
    for (std::size_t p = 0; p < known.size(); ++p) {
      if (!rest.starts_with(known[p]) || (braced && !rest.substr(known[p].size()).starts_with('}'))) continue;
      if (!found || known[p].size() > known[*found].size()) found = p;
    }
    if (!found) {
      if (braced && rest.find('}') == std::string_view::npos) {
        throw UserError("expected `}` after " + in_quotes("${" + std::string(rest)));
      }
      const std::string_view word = rest.substr(0, rest.find_first_of(braced ? "}" : "$|~+ ,;:/"));
      throw UserError("no parameter is called " + in_quotes(std::string(word)) + ", " +
                      suggestion(word, known));
    }
    i += known[*found].size() + (braced ? 3 : 1);
    part.parameter = found;
    named[*found] = true;
    parts_.push_back(std::move(part));
    part = {};
  }
  parts_.push_back(std::move(part));
  const auto missing = std::ranges::find(named, false);
  if (missing != named.end()) {
    throw UserError("lacks `$" + known[static_cast<std::size_t>(missing - named.begin())] +
                    "`: expected every parameter of the space");
  }
}

/// Values may begin like others, so all are tried.
void RowNames::match(std::string_view name, std::size_t part, Match& match) const {
  const Part& expected = parts_[part];
  if (!name.starts_with(expected.literal)) return;
  name.remove_prefix(expected.literal.size());
  if (!expected.parameter) {
    if (!name.empty()) return;
    space::Genotype& genotype = match.found.emplace_back();
    for (const auto& each : match.choices) genotype.choices.push_back(each.value());
    return;
  }
  std::optional<std::uint32_t>& choice = match.choices[*expected.parameter];
  const std::optional<std::uint32_t> before = choice;
  const std::vector<std::string>& texts = values_[*expected.parameter];
  for (std::uint32_t i = 0; i < texts.size() && match.found.size() < kMostFound; ++i) {
    if ((before && *before != i) || !name.starts_with(texts[i])) continue;
    if (++match.steps > kMostSteps) throw UserError("names without separators take too long to read");
    choice = i;
    this->match(name.substr(texts[i].size()), part + 1, match);
    choice = before;
  }
}

std::vector<space::Genotype> RowNames::genotypes_of(std::string_view name) const {
  Match matched{.choices = std::vector<std::optional<std::uint32_t>>(values_.size())};
  match(name, 0, matched);
  return std::move(matched.found);
}

std::string RowNames::name_of(const space::Genotype& genotype) const {
  std::string name;
  for (const Part& part : parts_) {
    name += part.literal;
    if (part.parameter) name += values_[*part.parameter][genotype.choices[*part.parameter]];
  }
  return name;
}

}  // namespace skyline::evaluate
