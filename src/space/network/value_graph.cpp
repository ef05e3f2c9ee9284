#include "space/network/value_graph.hpp"

#include "skyline/space/layer_kind.hpp"

#include "core/text/hash.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace skyline::space {
namespace {

// Sums of sums that would have more stay as they are.
constexpr std::size_t kMostTerms = 250;
constexpr std::int64_t kMostOfATerm = 1 << 20;
// Labels given, over and over again, to tell twins apart one by one: a second. Then their order does.
constexpr std::size_t kMostLabelled = 2'000'000;

class Simplifier {
 public:
  explicit Simplifier(const Network& network) : network_(network) { graph_.nodes.emplace_back(); }

  ValueGraph run() {
    for (const Layer& layer : network_.layers) values_.push_back(value_of(layer));
    graph_.output = values_.back() ? *values_.back() : zero(network_.layers.back().output);
    drop_dead_nodes();
    return std::move(graph_);
  }

 private:
  using Value = std::optional<std::size_t>;           // a node; nothing: zeros
  using Terms = std::map<std::size_t, std::int64_t>;  // how often a sum has each of its terms
  using Content = std::tuple<std::string, std::map<std::string, space::Value>, std::vector<std::size_t>,
                             std::vector<std::int64_t>>;

  Value value_of(const Layer& layer) {
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
    ValueNode node{.layer = layer};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      node.inputs.push_back(inputs[i] ? *inputs[i] : zero(layer.input_shapes[i]));
    }
    return traits.draws || !layer.tensors.empty() ? append(std::move(node)) : once(std::move(node));
  }

  Value sum(const Layer& layer, const std::vector<Value>& inputs) {
    Terms terms = terms_of(inputs, true);
    const auto is_too_often = [](const auto& term) { return term.second > kMostOfATerm; };
    if (terms.size() > kMostTerms || std::ranges::any_of(terms, is_too_often)) {
      terms = terms_of(inputs, false);
    }
    if (terms.size() == 1 && terms.begin()->second == 1) return terms.begin()->first;
    ValueNode node{.layer = layer};
    for (const auto& [term, count] : terms) {
      node.inputs.push_back(term);
      node.counts.push_back(count);
    }
    return once(std::move(node));
  }

  /// @param flat  whether the terms of sums take their place
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

  /// Zeros that a layer has to read.
  std::size_t zero(const Shape& shape) {
    ValueNode node;
    node.layer.kind = "zero";
    node.layer.attributes = {{"channels", shape.channels}, {"height", shape.height}, {"width", shape.width}};
    node.layer.output = shape;
    node.inputs = {0};
    return once(std::move(node));
  }

  /// The node of this content, a new one if there is none so far.
  std::size_t once(ValueNode node) {
    const auto [entry, is_new] = known_.try_emplace(
        Content{node.layer.kind, node.layer.attributes, node.inputs, node.counts}, graph_.nodes.size());
    return is_new ? append(std::move(node)) : entry->second;
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

  const Network& network_;
  ValueGraph graph_;
  std::vector<Value> values_;  // of the layers so far
  std::map<Content, std::size_t> known_;
};

/// A step of SplitMix64.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t next) {
  std::uint64_t z = (hash ^ (hash >> 29)) * 0x9e3779b97f4a7c15U + next;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

class Labelling {
 public:
  explicit Labelling(ValueGraph& graph) : nodes_(graph.nodes), readers_(nodes_.size()) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (std::size_t k = 0; k < nodes_[i].inputs.size(); ++k) {
        readers_[nodes_[i].inputs[k]].push_back({i, place(nodes_[i], k)});
      }
      nodes_[i].label = first_label(nodes_[i]);
    }
    nodes_[0].label = 1;
    nodes_[graph.output].label = mixed(nodes_[graph.output].label, 1);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (i == 0 || !nodes_[i].inputs.empty()) living_.push_back(i);
    }
  }

  void run() {
    std::size_t labelled = 0;
    for (refine(); const auto twin = first_twin(); refine()) {
      nodes_[*twin].label = mixed(nodes_[*twin].label, 2);
      labelled += living_.size();
      if (labelled > kMostLabelled) return number_twins();
    }
  }

 private:
  struct Reader {
    std::size_t node;
    std::uint64_t place;
  };

  /// What tells the inputs of a node apart: their order, or how often a sum has them.
  static std::uint64_t place(const ValueNode& node, std::size_t input) {
    return node.is_sum() ? static_cast<std::uint64_t>(node.counts[input]) : input;
  }

  static std::uint64_t first_label(const ValueNode& node) {
    std::string text = node.layer.kind;
    for (const auto& [name, value] : node.layer.attributes) text += ' ' + name + '=' + to_text(value);
    return stable_hash64(text);
  }

  /// Until labels tell apart as many nodes as inputs and readers can.
  void refine() {
    for (std::size_t before = 0, now = 1; now > before;) {
      before = now;
      std::ranges::for_each(living_, [&](std::size_t i) { absorb_inputs(nodes_[i]); });
      for (auto i = living_.rbegin(); i != living_.rend(); ++i) absorb_readers(*i);
      std::vector<std::uint64_t> labels;
      for (const std::size_t i : living_) labels.push_back(nodes_[i].label);
      std::ranges::sort(labels);
      now = labels.size() - std::ranges::unique(labels).size();
    }
  }

  void absorb_inputs(ValueNode& node) {
    std::vector<std::uint64_t> labels;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      labels.push_back(mixed(nodes_[node.inputs[k]].label, place(node, k)));
    }
    if (node.is_sum()) std::ranges::sort(labels);
    for (const std::uint64_t label : labels) node.label = mixed(node.label, label);
  }

  void absorb_readers(std::size_t i) {
    std::vector<std::uint64_t> labels;
    for (const Reader& reader : readers_[i]) labels.push_back(mixed(nodes_[reader.node].label, reader.place));
    std::ranges::sort(labels);
    for (const std::uint64_t label : labels) nodes_[i].label = mixed(nodes_[i].label, label);
  }

  /// One of the nodes that share the smallest label which several have.
  std::optional<std::size_t> first_twin() const {
    std::map<std::uint64_t, std::vector<std::size_t>> by_label;
    for (const std::size_t i : living_) by_label[nodes_[i].label].push_back(i);
    for (const auto& [label, nodes] : by_label) {
      if (nodes.size() > 1) return nodes.front();
    }
    return std::nullopt;
  }

  void number_twins() {
    std::map<std::uint64_t, std::uint64_t> twins;
    for (const std::size_t i : living_) {
      const std::uint64_t number = twins[nodes_[i].label]++;
      if (number > 0) nodes_[i].label = mixed(nodes_[i].label, 2 + number);
    }
  }

  std::vector<ValueNode>& nodes_;
  std::vector<std::vector<Reader>> readers_;
  std::vector<std::size_t> living_;
};

}  // namespace

ValueGraph simplified(const Network& network) {
  return Simplifier(network).run();
}

void label_nodes(ValueGraph& graph) {
  Labelling(graph).run();
}

}  // namespace skyline::space
