#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/space/search_space.hpp"

#include "space/expressions/expression.hpp"
#include "space/language/network_item.hpp"

#include <string>
#include <vector>

namespace skyline::space {

/// A parameter as the `parameters` section declares it.
struct DeclaredParameter {
  Parameter parameter;
  bool each = false;  // has its own value at every place
  ConfigNode source;
  std::string problem;  // what is wrong with it, or empty
};

/// Reads `parameters: {name: {choice: [...], weights: [...]}, name: {range: [first, last, step]}}`. Mistakes,
/// such as an empty choice or a wrong weight, are noted in the parameter.
std::vector<DeclaredParameter> read_parameters(const ConfigNode& section);

/// Bounds the memory of a space: the values of all its parameters.
constexpr std::size_t kMostValuesInAll = 1'000'000;
std::string too_many_values();

/// Returns `values` weights: the listed ones, or equal ones if the node is null. @throws UserError
std::vector<double> read_weights(const ConfigNode& list, std::size_t values);

struct ParsedSpace {
  std::vector<Parameter> parameters;
  DataShape data;
  ConfigNode network_source;
  ItemPointer network;
  std::vector<Expression> training;  // expressions of the evaluator's section
  std::vector<std::string> registered_kinds;

  /// Builds the parts of a genotype.
  /// @param used  is set to what becomes Architecture::used
  /// @throws UserError if the network cannot be built
  Architecture::Parts build(const Genotype& genotype, std::vector<bool>& used, NetworkBuilder& builder) const;
};

ArchId id_of(const Architecture::Parts& parts);

}  // namespace skyline::space
