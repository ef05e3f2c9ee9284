#pragma once

#include "skyline/core/config_node.hpp"

#include "space/expressions/expression.hpp"
#include "space/language/layer_template.hpp"
#include "space/language/network_builder.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::space {

/// One item of a `network:` or `body:` list, with all names resolved. It reads the builder's current tensor
/// and makes its own output the current one. Immutable.
class NetworkItem {
 public:
  virtual ~NetworkItem() = default;
  virtual void build(NetworkBuilder& builder, const Bindings& bindings) const = 0;
};
using ItemPointer = std::unique_ptr<const NetworkItem>;
using ItemPointers = std::vector<ItemPointer>;

/// A tensor that an item reads: one with a name, or the output of the item before if it has no value.
using TensorReference = std::optional<std::size_t>;

/// An alternative of a choice, and the word that selects it.
struct Alternative {
  std::string word;
  ItemPointer item;
};

/// The edges into one node of a cell. Node 0 is the cell's input.
struct CellNode {
  struct Edge {
    std::size_t from;
    ItemPointer operation;
  };
  std::vector<Edge> edges;
};

/// @param reads  tensors that the layer reads; if empty, it reads the output of the item before
ItemPointer make_layer(LayerTemplate layer, std::vector<TensorReference> reads);
/// @param input  number of the name of the tensor that the list reads
ItemPointer make_sequence(ItemPointers items, std::size_t input, ConfigNode source);
/// @param bodies  one for all repetitions, or one for each
ItemPointer make_repeat(Expression count, ItemPointers bodies);
ItemPointer make_choice(Expression selector, std::vector<Alternative> alternatives);
ItemPointer make_condition(Expression condition, ItemPointer item);
/// Builds `item` on another tensor.
ItemPointer make_reading(TensorReference from, ItemPointer item);
/// Remembers the output of `item` by the number of its name.
ItemPointer make_naming(std::size_t number, ItemPointer item);

/// Ways to lead the input past a residual body whose output has another shape.
struct Shortcut {
  enum class Kind { kConvolution, kNone, kGiven };
  Kind kind = Kind::kConvolution;
  ItemPointer given;
};
ItemPointer make_residual(ItemPointer body, Shortcut shortcut, ConfigNode source);
/// @param merge  a layer that reads the outputs of all branches
ItemPointer make_branch(ItemPointers branches, LayerTemplate merge);
/// @param outputs  nodes whose outputs make the cell's output; several are joined by `concat`
ItemPointer make_cell(std::vector<CellNode> nodes, std::vector<std::size_t> outputs, ConfigNode source);

/// Returns the number of repetitions. @throws UserError unless it is a whole number from 0 to 10,000
std::int64_t repetitions(const Expression& count, const Value& value);

}  // namespace skyline::space
