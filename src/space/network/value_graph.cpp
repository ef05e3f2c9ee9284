#include "space/network/value_graph.hpp"

#include "skyline/space/layer_kind.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace skyline::space {
namespace {

// Sums of sums with more terms stay as they are.
constexpr std::size_t kMostTerms = 250;
constexpr std::int64_t kMostOfATerm = 1 << 20;

class Simplifier {
 public:
  explicit Simplifier(std::vector<Layer> layers) : layers_(std::move(layers)) {
    graph_.nodes.reserve(layers_.size() + 1);
    graph_.nodes.emplace_back();
  }

  ValueGraph run() {
    const Shape output = layers_.back().output;
    for (Layer& layer : layers_) values_.push_back(value_of(layer));
    graph_.output = values_.back() ? *values_.back() : zero(output);
    drop_dead_nodes();
    return std::move(graph_);
  }

 private:
  using Value = std::optional<std::size_t>;           // a node, or no value for zeros
  using Terms = std::map<std::size_t, std::int64_t>;  // number of each term in a sum
  /// Orders nodes by what they compute.
  struct IsBefore {
    const std::vector<ValueNode>& nodes;
    auto content(std::size_t i) const {
      const ValueNode& node = nodes[i];
      return std::tie(node.inputs, node.counts, node.layer.kind, node.layer.attributes);
    }
    bool operator()(std::size_t left, std::size_t right) const { return content(left) < content(right); }
  };

  /// Makes the layer part of a node.
  Value value_of(Layer& layer) {
    const Traits traits = traits_of(layer);
    std::vector<Value> inputs;
    for (const std::size_t input : layer.inputs) inputs.push_back(values_[input]);
    if (inputs.empty()) inputs.emplace_back(0);
    const auto zeros = std::ranges::count(inputs, Value());
    if (traits.zeros == Zeros::kAlways || (traits.zeros == Zeros::kIfAny && zeros > 0) ||
        (traits.zeros == Zeros::kIfAll && zeros == std::ssize(inputs))) {
      return std::nullopt;
    }
    if (traits.is_identity) return inputs.front();
    if (traits.adds) return sum(layer, inputs);
    ValueNode node;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      node.inputs.push_back(inputs[i] ? *inputs[i] : zero(layer.input_shapes[i]));
    }
    node.layer = std::move(layer);
    return traits.draws || !node.layer.tensors.empty() ? append(std::move(node)) : once(std::move(node));
  }

  Value sum(Layer& layer, const std::vector<Value>& inputs) {
    Terms terms = terms_of(inputs, true);
    const auto is_too_often = [](const auto& term) { return term.second > kMostOfATerm; };
    if (terms.size() > kMostTerms || std::ranges::any_of(terms, is_too_often)) {
      terms = terms_of(inputs, false);
    }
    if (terms.size() == 1 && terms.begin()->second == 1) return terms.begin()->first;
    ValueNode node{.layer = std::move(layer)};
    for (const auto& [term, count] : terms) {
      node.inputs.push_back(term);
      node.counts.push_back(count);
    }
    return once(std::move(node));
  }

  /// @param flat  whether sums are replaced by their terms
  Terms terms_of(const std::vector<Value>& inputs, bool flat) const {
    Terms terms;
    for (const Value& input : inputs) {
      if (!input) continue;
      const ValueNode& term = graph_.nodes[*input];
      if (!flat || !term.is_sum()) ++terms[*input];
      for (std::size_t k = 0; flat && k < term.counts.size(); ++k) terms[term.inputs[k]] += term.counts[k];
    }
    return terms;
  }

  /// Returns a node of zeros, for a layer that must read them.
  std::size_t zero(const Shape& shape) {
    ValueNode node;
    node.layer.kind = "zero";
    node.layer.attributes = {{"channels", shape.channels}, {"height", shape.height}, {"width", shape.width}};
    node.layer.output = shape;
    node.inputs = {0};
    return once(std::move(node));
  }

  /// Returns the node of this content, and adds it if there is none.
  std::size_t once(ValueNode node) {
    const auto [known, is_new] = known_.insert(append(std::move(node)));
    if (!is_new) graph_.nodes.pop_back();
    return *known;
  }

  std::size_t append(ValueNode node) {
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.size() - 1;
  }

  void drop_dead_nodes() {
    std::vector<bool> lives(graph_.nodes.size(), false);
    lives[graph_.output] = true;
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      if (!lives[i]) graph_.nodes[i].inputs.clear();
      for (const std::size_t input : graph_.nodes[i].inputs) lives[input] = true;
    }
  }

  std::vector<Layer> layers_;
  ValueGraph graph_;
  std::vector<Value> values_;                                      // values of the layers so far
  std::set<std::size_t, IsBefore> known_{IsBefore{graph_.nodes}};  // nodes by content, each content once
};

}  // namespace

ValueGraph simplified(std::vector<Layer> layers) {
  return Simplifier(std::move(layers)).run();
}

}  // namespace skyline::space
