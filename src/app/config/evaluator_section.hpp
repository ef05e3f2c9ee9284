#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"

#include "space/language/searched_section.hpp"

namespace skyline::app {

/// The evaluator of the trials, with its section.
struct ChosenEvaluator {
  const evaluate::EvaluatorKind* kind = nullptr;  // nullptr: one that this program does not have
  ConfigNode section = {};                        // complete
  evaluate::EvaluatorNeeds needs = {};
};

/// The evaluator whose section a complete configuration has, with the values that the first genotype gives.
ChosenEvaluator evaluator_of(const ConfigNode& resolved);

/// The evaluator that alone has a section in a configuration, which may have mistakes; nullptr: none, or
/// several.
const evaluate::EvaluatorKind* named_evaluator(const ConfigNode& root);

/// The part of the evaluator's section to which parameters of the space give values.
space::SearchedSection searched_section(const ConfigNode& root);
/// The configuration with the values that the first genotype gives to the evaluator's section.
/// @throws UserError for values that it cannot have
ConfigNode with_first_values(ConfigNode root, const space::SearchedSection& searched);

}  // namespace skyline::app
