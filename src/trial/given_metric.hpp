#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/trial/metric.hpp"

#include <optional>
#include <string>
#include <vector>

namespace skyline::trial {

/// A metric of the user's that is known before a training: an expression of parameters and costs gives it,
/// `params: {is: "$layers * $width ** 2"}`, or a program counts it (section `costs`). No trial reports it,
/// and Measurements lack it.
struct GivenMetric {
  std::string name;
  ConfigNode is;  // scalar with the expression; null if a program counts it
  std::optional<Better> better = {};
  MetricRange range = {};  // an architecture with a value outside of it is invalid
  std::string unit = {};

  /// Returns its description. Unless the user says which direction is better, lower values are.
  Metric description() const;
  /// Returns the keys of a metric that an expression gives.
  static const OptionTable<GivenMetric>& table();
  /// Returns the keys of a metric that a program counts.
  static const OptionTable<GivenMetric>& counted_table();
};

/// Returns whether an entry of `metrics` describes such a metric.
bool is_given(const ConfigNode::Entry& entry);
/// Reads `{area: {is: $a * $b}}`. @param expected  text for messages
OptionKind<std::vector<GivenMetric>> given_by_name(const OptionTable<GivenMetric>& table,
                                                   const std::string& expected);
/// Returns the given metrics of a configuration: those of the evaluator's section in its order, then those of
/// `costs`; for readers that need not know the evaluator. @throws UserError
std::vector<GivenMetric> given_metrics(const ConfigNode& root);

std::vector<Metric> descriptions_of(const std::vector<GivenMetric>& metrics);
/// Returns the expressions for the space.
std::vector<space::GivenExpression> expressions_of(const std::vector<GivenMetric>& metrics);

}  // namespace skyline::trial
