// The part of the page about several runs.
#include "report/html/run_json.hpp"

#include <utility>

namespace skyline::report {
namespace {

Json quantity_json(const Quantity& quantity) {
  Json means = Json::array();
  for (const Mean& mean : quantity.means) {
    means.push_back(
        {{"count", mean.count}, {"value", short_number(mean.value)}, {"margin", short_number(mean.margin)}});
  }
  Json tests = Json::array();
  for (const Quantity::Test& test : quantity.tests) {
    tests.push_back({{"left", test.left},
                     {"right", test.right},
                     {"u", short_number(test.result.u)},
                     {"p", short_number(test.result.p)}});
  }
  return {{"name", quantity.name}, {"means", std::move(means)}, {"tests", std::move(tests)}};
}

}  // namespace

Json comparison_json(const ReportOptions& options) {
  if (!options.comparison) {
    return options.no_comparison.empty() ? Json(nullptr) : Json{{"problem", options.no_comparison}};
  }
  const Comparison& comparison = *options.comparison;
  Json groups = Json::array();
  for (const RunGroup& group : comparison.groups) {
    Json names = Json::array();
    for (const std::size_t run : group.runs) names.push_back(comparison.runs[run].name);
    groups.push_back({{"name", group.name}, {"runs", std::move(names)}});
  }
  Json quantities = Json::array();
  for (const Quantity& quantity : comparison.quantities) quantities.push_back(quantity_json(quantity));
  return {
      {"trials", comparison.trials}, {"groups", std::move(groups)}, {"quantities", std::move(quantities)}};
}

}  // namespace skyline::report
