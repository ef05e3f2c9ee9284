#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/space/search_space.hpp"

#include "space/conditions/given_metrics.hpp"
#include "space/conditions/parameter_uses.hpp"
#include "space/conditions/space_conditions.hpp"
#include "space/expressions/expression.hpp"
#include "space/language/network_item.hpp"
#include "space/language/searched_value.hpp"

#include <optional>
#include <string>
#include <vector>

namespace skyline::space {

/// A parameter as the `parameters` section declares it.
struct DeclaredParameter {
  Parameter parameter;
  bool each = false;  // has its own value at every place
  ConfigNode when;    // condition on which it is used; null if it always is
  ConfigNode source;
  std::string problem;  // error message, or empty
  std::string warning;  // warning about a valid but surprising value, or empty
};

/// Reads `parameters: {name: {choice: [...], weights: [...]}, name: {range: [first, last, step]}}`. Mistakes,
/// such as an empty choice or a wrong weight, are noted in the parameter.
std::vector<DeclaredParameter> read_parameters(const ConfigNode& section);

/// Returns `values` weights: the listed ones, or equal ones if the node is null. @throws UserError
std::vector<double> read_weights(const ConfigNode& list, std::size_t values);

/// A space as it was read. It stays where it was made, because its conditions and its given metrics refer to
/// its parameters.
struct ParsedSpace {
  std::vector<Parameter> parameters;
  DataShape data;
  ConfigNode network_source;
  ItemPointer network;                  // nullptr if the space has parameters alone
  std::vector<SearchedValue> training;  // values of the evaluator's section
  std::vector<std::string> registered_kinds;
  bool has_int8_costs = false;  // whether something asks for them
  std::vector<std::string> warnings;
  std::optional<ParameterUses> uses;  // always set once the space is read, as the two below
  std::optional<SpaceConditions> where;
  std::optional<GivenMetrics> given;

  /// @throws InternalError if the genotype is one of another space
  void check(const Genotype& genotype) const;
  /// Builds the parts of a genotype of this space.
  /// @param genotype  is canonical (ParameterUses)
  /// @param used      is set to what becomes Architecture::used, also if the network cannot be built
  /// @throws UserError if the network cannot be built, or a given metric has no value; `where` is not looked
  /// at
  Architecture::Parts build(const Genotype& genotype, std::vector<bool>& used, NetworkBuilder& builder) const;
  /// Returns the id of what a genotype builds: a hash of the network and the training values; without a
  /// network, of the names and values of the used parameters, whatever their order.
  ArchId id_of(const Genotype& genotype, const std::vector<bool>& used,
               const Architecture::Parts& parts) const;
};

}  // namespace skyline::space
