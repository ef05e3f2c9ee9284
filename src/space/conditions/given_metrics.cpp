#include "space/conditions/given_metrics.hpp"

#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

namespace skyline::space {
namespace {

/// Returns the text of a number, without a point if it is whole.
std::string plain_text(double number) {
  return to_text(value_of(number_of(Value(number))));
}

}  // namespace

GivenMetrics::GivenMetrics(const std::vector<GivenExpression>& given, const std::vector<Expression>& read,
                           const std::vector<Parameter>& parameters, std::int64_t classes)
    : parameters_(parameters), classes_(classes), values_(parameters) {
  auto next = read.begin();
  for (const GivenExpression& metric : given) {
    if (metric.source.is_null()) {
      counted_.push_back(metric.name);
      continue;
    }
    const Expression& expression = *next++;
    for (const std::size_t p : expression.parameters()) {
      values_.add(p);
      values_.add_operands(p);
    }
    ConditionTerm term(*expression.root(), values_, classes, expression.source());
    if ((term.kinds() & ConditionValues::kNumber) == 0) expression.source().fail_expected(kGivenExample);
    metrics_.push_back({metric, expression, std::move(term)});
  }
}

std::vector<std::string_view> GivenMetrics::names() const {
  std::vector<std::string_view> names;
  for (const Metric& metric : metrics_) names.emplace_back(metric.given.name);
  return names;
}

void GivenMetrics::check(const Genotype& genotype, const Cost& cost, std::vector<bool>& used) const {
  for (const Metric& metric : metrics_) (void)value(metric, {parameters_, genotype, classes_, used, &cost});
}

std::optional<double> GivenMetrics::value(std::string_view name, const Genotype& genotype,
                                          const Cost& cost) const {
  for (const Metric& metric : metrics_) {
    if (metric.given.name != name) continue;
    std::vector<bool> reads(parameters_.size());
    return value(metric, {parameters_, genotype, classes_, reads, &cost});
  }
  return std::nullopt;
}

double GivenMetrics::value(const Metric& metric, const Bindings& bindings) const {
  std::string why;
  const Operand result = metric.term.calculate(bindings, values_, &why);
  const auto* number = std::get_if<Number>(&result);
  if (number == nullptr) fail(metric, bindings, why.empty() ? "it is no number" : why);
  const double value = nearest_double(*number);
  if (!std::isfinite(value)) fail(metric, bindings, "it is too large, or infinite");
  if (value < metric.given.low || value > metric.given.high) {
    fail(metric, bindings,
         plain_text(value) + " is outside of its range, [" + plain_text(metric.given.low) + ", " +
             plain_text(metric.given.high) + "]");
  }
  return value;
}

void GivenMetrics::fail(const Metric& metric, const Bindings& bindings, const std::string& problem) {
  const ConfigNode& source = metric.expression.source();
  source.fail(in_quotes(source.as_text()) + " has no value: " + problem +
              values_text(bindings.parameters, metric.expression.parameters(), bindings.genotype));
}

}  // namespace skyline::space
