#include "space/network/canonical_form.hpp"

#include "skyline/space/layer_kind.hpp"

#include "space/network/value_graph.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::space {
namespace {

/// Most networks are chains, and stay as they are.
bool is_plain_chain(const Network& network) {
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    const bool reads_the_one_before =
        i == 0 ? layer.inputs.empty() : layer.inputs.size() == 1 && layer.inputs.front() == i - 1;
    const Traits traits = traits_of(layer);
    if (!reads_the_one_before || traits.is_identity || traits.zeros == Zeros::kAlways) return false;
  }
  return true;
}

class Writer {
 public:
  Writer(const Network& network, ValueGraph graph) : graph_(std::move(graph)), places_(graph_.nodes.size()) {
    result_.input = network.input;
    result_.classes = network.classes;
  }

  Network run() {
    for (ValueNode& node : graph_.nodes) {
      if (node.is_sum) sort_by_label(node.inputs);
    }
    share_sums();
    write_all();
    return std::move(result_);
  }

 private:
  void sort_by_label(std::vector<std::size_t>& nodes) const {
    std::ranges::sort(nodes, {}, [&](std::size_t node) { return graph_.nodes[node].label; });
  }

  /// Lets each sum read other sums in place of the terms that they have in common, the largest first.
  void share_sums() {
    const auto label = [&](std::size_t node) { return graph_.nodes[node].label; };
    std::vector<std::size_t> sums;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].is_sum && !graph_.nodes[i].inputs.empty()) sums.push_back(i);
    }
    sort_by_label(sums);
    std::ranges::stable_sort(sums, std::greater(),
                             [&](std::size_t i) { return graph_.nodes[i].inputs.size(); });
    for (auto sum = sums.begin(); sum != sums.end(); ++sum) {
      std::vector<std::size_t>& terms = graph_.nodes[*sum].inputs;
      const std::size_t count = terms.size();
      std::vector<std::size_t> shared;
      for (auto other = sum + 1; other != sums.end(); ++other) {
        const std::vector<std::size_t>& part = graph_.nodes[*other].inputs;
        while (part.size() < count && std::ranges::includes(terms, part, {}, label, label)) {
          std::vector<std::size_t> rest;
          std::ranges::set_difference(terms, part, std::back_inserter(rest), {}, label, label);
          terms = std::move(rest);
          shared.push_back(*other);
        }
      }
      terms.insert(terms.end(), shared.begin(), shared.end());
      sort_by_label(terms);
    }
  }

  /// Depth first from the output: each branch is finished before the next one begins.
  void write_all() {
    struct Visit {
      std::size_t node;
      std::size_t next_input = 0;
    };
    std::vector<Visit> path{{graph_.output}};
    while (!path.empty()) {
      const std::size_t node = path.back().node;
      const std::vector<std::size_t>& inputs = graph_.nodes[node].inputs;
      if (path.back().next_input < inputs.size()) {
        const std::size_t input = inputs[path.back().next_input++];
        if (!places_[input] && (input != 0 || inputs.size() > 1)) path.push_back({input});
        continue;
      }
      path.pop_back();
      write(node);
    }
  }

  void write(std::size_t node) {
    Layer layer = std::move(graph_.nodes[node].layer);
    if (node == 0) {  // read beside others, or the output itself: a layer has to stand for it
      layer.kind = "identity";
      layer.output = result_.input;
    }
    const std::vector<std::size_t>& inputs = graph_.nodes[node].inputs;
    layer.inputs.clear();
    if (inputs != std::vector<std::size_t>{0}) {
      for (const std::size_t input : inputs) layer.inputs.push_back(*places_[input]);
    }
    if (graph_.nodes[node].is_sum) {
      std::ranges::sort(layer.inputs);
      layer.cost.flops = (std::ssize(layer.inputs) - 1) * layer.output.elements();
    }
    layer.input_shapes.clear();
    for (const std::size_t input : layer.inputs) layer.input_shapes.push_back(result_.layers[input].output);
    if (layer.inputs.empty()) layer.input_shapes = {result_.input};
    layer.name = layer.kind + '_' + std::to_string(kind_counts_[layer.kind]++);
    places_[node] = result_.layers.size();
    result_.layers.push_back(std::move(layer));
  }

  ValueGraph graph_;
  std::vector<std::optional<std::size_t>> places_;  // of the nodes among the layers
  Network result_;
  std::map<std::string, std::size_t> kind_counts_;
};

}  // namespace

Network canonical_form(Network network) {
  if (is_plain_chain(network)) return network;
  ValueGraph graph = simplified(network);
  label_nodes(graph);
  return Writer(network, std::move(graph)).run();
}

}  // namespace skyline::space
