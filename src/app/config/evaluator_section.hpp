#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/evaluate/evaluator_kind.hpp"

#include "space/language/searched_section.hpp"

#include <optional>

namespace skyline::app {

struct ChosenEvaluator {
  const evaluate::EvaluatorKind* kind = nullptr;
  ConfigNode section = {};  // complete
  evaluate::EvaluatorNeeds needs = {};
  ConfigNode written = {};  // section of the file, with the first genotype's values
};

/// Returns the evaluator of a run's configuration, with the values of the first genotype.
/// @throws UserError if this program lacks it, or a part that its section names, such as a loss
ChosenEvaluator evaluator_of(const ConfigNode& resolved);
/// Returns the same, or nullopt instead of an error: the run may be of another program.
std::optional<ChosenEvaluator> known_evaluator(const ConfigNode& resolved);
/// Returns whether the results of a run may depend on the seeds of its trials; false if this program does not
/// know its evaluator, or a key of that.
bool may_depend_on_seeds(const ConfigNode& resolved);

/// Returns the only evaluator with a section in a configuration, which may have mistakes; nullptr if there is
/// none, or several.
const evaluate::EvaluatorKind* named_evaluator(const ConfigNode& root);

/// Returns a configuration with the evaluator that needs no section: `computed`, if it states none, and all
/// of its objectives and constraints are costs of networks. Otherwise it stays as it is.
ConfigNode with_implied_evaluator(ConfigNode root);

/// Returns the part of the evaluator's section to which parameters of the space give values.
space::SearchedSection searched_section(const ConfigNode& root);
/// Returns the configuration with the values that the first genotype gives to the evaluator's section.
/// @throws UserError for values that it cannot have
ConfigNode with_first_values(ConfigNode root, const space::SearchedSection& searched);

}  // namespace skyline::app
