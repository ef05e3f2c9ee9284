#include "app/tuner/cost_lines.hpp"

#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include "core/config/foreign_words.hpp"
#include "core/text/foreign_text.hpp"
#include "store/journal/trial_json.hpp"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

namespace skyline::app {
namespace {

using Json = nlohmann::ordered_json;

std::string quoted_json(const Json& value) {
  return in_quotes(shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

/// Reads the costs of one genotype. @throws UserError without the parameters
std::vector<double> costs_of(const Json& counted, const std::vector<trial::GivenMetric>& metrics) {
  if (counted.is_string()) throw UserError(printable(counted.get<std::string>()));
  if (!counted.is_object()) throw UserError("expected its costs by name, got " + quoted_json(counted));
  std::vector<std::string> names;
  for (const trial::GivenMetric& metric : metrics) names.push_back(metric.name);
  for (const auto& item : counted.items()) {
    if (std::ranges::find(names, item.key()) == names.end()) {
      throw UserError("costs.metrics has no " + in_quotes(item.key()) + ", " +
                      suggestion(item.key(), names, NamesOf::kUser));
    }
  }
  std::vector<double> costs;
  for (const trial::GivenMetric& metric : metrics) {
    const auto found = counted.find(metric.name);
    if (found == counted.end()) throw UserError("lacks " + in_quotes(metric.name));
    if (!found->is_number() || !metric.range.holds(found->get<double>())) {
      throw UserError(metric.name + ": expected " + objective::to_text(metric.range) + ", got " +
                      quoted_json(*found));
    }
    costs.push_back(found->get<double>());
  }
  return costs;
}

}  // namespace

std::vector<std::vector<double>> read_costs(std::string_view line, std::span<const space::Genotype> genotypes,
                                            const space::SearchSpace& space,
                                            const std::vector<trial::GivenMetric>& metrics) {
  const std::string subject = "costs.run: the answer of the program: ";
  const Json answer = Json::parse(shallow_json(line), nullptr, false);
  const auto list = answer.is_object() ? answer.find("costs") : answer.end();
  if (list == answer.end() || !list->is_array() || list->size() != genotypes.size()) {
    throw UserError(subject + "expected `{\"costs\": [...]}` with " + std::to_string(genotypes.size()) +
                    " members, got " + in_quotes(shortened(line)));
  }
  std::vector<std::vector<double>> costs;
  for (std::size_t i = 0; i < genotypes.size(); ++i) {
    try {
      costs.push_back(costs_of((*list)[i], metrics));
    } catch (const UserError& problem) {
      throw UserError(subject + space.describe(genotypes[i]) + ": " + problem.what());
    }
  }
  return costs;
}

}  // namespace skyline::app
