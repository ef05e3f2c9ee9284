#pragma once

#include "skyline/core/config_node.hpp"
#include "skyline/space/search_space.hpp"

#include "space/network/network_builder.hpp"

#include <memory>
#include <set>
#include <vector>

namespace skyline::space {

/// Reads `parameters: {name: {choice: [...], weights: [...]}, name: {range: [first, last, step]}}`.
/// @throws UserError for an empty choice, a value given twice, a wrong range or weight
std::vector<Parameter> read_parameters(const ConfigNode& section);

/// One item of a `network:` or `body:` list. Immutable.
class NetworkItem {
 public:
  virtual ~NetworkItem() = default;
  virtual void build(NetworkBuilder& builder, const Bindings& bindings) const = 0;
  /// Adds the indices of all parameters that the item names.
  virtual void collect_parameters(std::set<std::size_t>& indices) const = 0;
};
using NetworkItems = std::vector<std::unique_ptr<const NetworkItem>>;

/// Reads a list of layers and repeats.
/// @throws UserError for every mistake that shows before any parameter has a value
NetworkItems parse_network(const ConfigNode& list, const std::vector<Parameter>& parameters,
                           std::int64_t classes);

/// The parts of a parsed space.
struct SearchSpace::State {
  std::vector<Parameter> parameters;
  DataShape data;
  ConfigNode network_source;
  NetworkItems network;
};

}  // namespace skyline::space
