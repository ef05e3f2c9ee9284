// Items that make a graph: residual, branch, cell.
#include "space/language/network_item.hpp"

#include <algorithm>
#include <utility>

namespace skyline::space {
namespace {

LayerTemplate layer_of(const std::string& kind, const ConfigNode& source, const Attributes& attributes = {}) {
  return LayerTemplate::fixed(*find_layer_kind(kind), source, attributes);
}

/// Returns whether a layer moves in steps of other heights than widths.
bool has_two_strides(const Layer& layer) {
  const Value* const stride = layer.attributes.find("stride");
  return stride != nullptr && std::holds_alternative<Sides>(*stride);
}

/// Returns the stride with which a 1x1 convolution turns `from` into `to`, or nullopt if there is none.
/// @param may_differ  whether the stride may have two sides; without such layers it never had
std::optional<Sides> stride_between(const Shape& from, const Shape& to, bool may_differ) {
  const auto steps = [](std::int64_t size, std::int64_t stride) { return (size - 1) / stride + 1; };
  const auto smallest = [](std::int64_t size, std::int64_t most_steps) {
    return (size - 1) / most_steps + 1;
  };
  Sides stride{smallest(from.height, to.height), smallest(from.width, to.width)};
  if (!may_differ) stride.fill(std::max(stride[0], stride[1]));
  // If this stride gives too few steps in one direction, a larger one would give even fewer.
  if (steps(from.height, stride[0]) != to.height || steps(from.width, stride[1]) != to.width)
    return std::nullopt;
  return stride;
}

class Residual final : public NetworkItem {
 public:
  Residual(ItemPointer body, Shortcut shortcut, ConfigNode source)
      : body_(std::move(body)),
        shortcut_(std::move(shortcut)),
        source_(std::move(source)),
        add_(layer_of("add", source_)) {}

  void build(NetworkBuilder& builder, const Bindings& bindings) const override {
    const TensorIndex start = builder.current();
    const auto first = std::ssize(builder.layers());
    body_->build(builder, bindings);
    const TensorIndex end = builder.current();
    if (end == start) return;
    const bool may_differ =
        std::any_of(builder.layers().begin() + first, builder.layers().end(), has_two_strides);
    builder.continue_from(start);
    if (shortcut_.kind == Shortcut::Kind::kGiven) {
      shortcut_.given->build(builder, bindings);
    } else if (builder.shape_of(start) != builder.shape_of(end)) {
      if (shortcut_.kind == Shortcut::Kind::kNone) return builder.continue_from(end);
      project(builder, bindings, builder.shape_of(end), may_differ);
    }
    builder.add(add_, bindings, {builder.current(), end});
  }

 private:
  void project(NetworkBuilder& builder, const Bindings& bindings, const Shape& to, bool may_differ) const {
    const Shape& from = builder.shape_of(builder.current());
    const auto stride = stride_between(from, to, may_differ);
    if (!stride) {
      source_.fail("no stride takes the input " + to_text(from) + " to the body's output " + to_text(to) +
                   "; write `projection:` as a list of layers");
    }
    const Attributes attributes{{"channels", to.channels},
                                {"kernel", std::int64_t{1}},
                                {"stride", as_value(*stride)},
                                {"padding", std::int64_t{0}},
                                {"bias", false}};
    builder.add(layer_of("conv2d", source_, attributes), bindings);
    builder.add(layer_of("batch_norm", source_), bindings);
  }

  ItemPointer body_;
  Shortcut shortcut_;
  ConfigNode source_;
  LayerTemplate add_;
};

class Branch final : public NetworkItem {
 public:
  Branch(ItemPointers branches, LayerTemplate merge)
      : branches_(std::move(branches)), merge_(std::move(merge)) {}

  void build(NetworkBuilder& builder, const Bindings& bindings) const override {
    const TensorIndex start = builder.current();
    std::vector<TensorIndex> ends;
    for (const ItemPointer& branch : branches_) {
      builder.continue_from(start);
      branch->build(builder, bindings);
      ends.push_back(builder.current());
    }
    builder.add(merge_, bindings, ends);
  }

 private:
  ItemPointers branches_;
  LayerTemplate merge_;
};

class Cell final : public NetworkItem {
 public:
  Cell(std::vector<CellNode> nodes, std::vector<std::size_t> outputs, const ConfigNode& source)
      : nodes_(std::move(nodes)),
        outputs_(std::move(outputs)),
        add_(layer_of("add", source)),
        concat_(layer_of("concat", source)) {}

  void build(NetworkBuilder& builder, const Bindings& bindings) const override {
    std::vector<TensorIndex> tensors{builder.current()};
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      std::vector<TensorIndex> terms;
      for (const CellNode::Edge& edge : nodes_[i].edges) {
        builder.continue_from(tensors[edge.from]);
        edge.operation->build(builder, bindings);
        terms.push_back(builder.current());
      }
      tensors.push_back(merged(builder, bindings, add_, terms));
    }
    std::vector<TensorIndex> joined;
    for (const std::size_t output : outputs_) joined.push_back(tensors[output]);
    builder.continue_from(merged(builder, bindings, concat_, joined));
  }

 private:
  static TensorIndex merged(NetworkBuilder& builder, const Bindings& bindings, const LayerTemplate& merge,
                            const std::vector<TensorIndex>& tensors) {
    if (tensors.size() == 1) return tensors.front();
    builder.add(merge, bindings, tensors);
    return builder.current();
  }

  std::vector<CellNode> nodes_;
  std::vector<std::size_t> outputs_;
  LayerTemplate add_;
  LayerTemplate concat_;
};

}  // namespace

ItemPointer make_residual(ItemPointer body, Shortcut shortcut, ConfigNode source) {
  return std::make_unique<Residual>(std::move(body), std::move(shortcut), std::move(source));
}

ItemPointer make_branch(ItemPointers branches, LayerTemplate merge) {
  return std::make_unique<Branch>(std::move(branches), std::move(merge));
}

ItemPointer make_cell(std::vector<CellNode> nodes, std::vector<std::size_t> outputs, ConfigNode source) {
  return std::make_unique<Cell>(std::move(nodes), std::move(outputs), source);
}

}  // namespace skyline::space
