#include "skyline/trial/metric.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <iterator>

namespace skyline::trial {

std::vector<std::string> names_of(const std::vector<Metric>& metrics) {
  std::vector<std::string> names;
  std::ranges::transform(metrics, std::back_inserter(names), &Metric::name);
  return names;
}

std::vector<std::string> course_metrics(const std::vector<Metric>& metrics) {
  std::vector<std::string> names;
  for (const Metric& metric : metrics) {
    if (metric.has_course) names.push_back(metric.name);
  }
  return names;
}

const Metric* find_metric(const std::vector<Metric>& metrics, std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  return found == metrics.end() ? nullptr : &*found;
}

const Baseline* find_baseline(const std::vector<Baseline>& baselines, std::string_view metric) {
  const auto found = std::ranges::find(baselines, metric, &Baseline::metric);
  return found == baselines.end() ? nullptr : &*found;
}

void check_metrics(const std::vector<Metric>& metrics) {
  for (const Metric& metric : metrics) {
    const auto fail = [&](const char* mistake) {
      throw UserError("metric " + in_quotes(printable(metric.name)) + ": " + mistake);
    };
    if (metric.name.empty()) fail("has no name");
    if (printable(metric.name) != metric.name) fail("has a name that is not printable UTF-8");
    if (find_metric(metrics, metric.name) != &metric) fail("is described twice");
    if (!(metric.range.low <= metric.range.high)) fail("has a range that holds nothing");
    if (metric.ideal && !metric.range.holds(*metric.ideal)) fail("has an ideal outside its range");
  }
}

}  // namespace skyline::trial
