#include "space/network/canonical_form.hpp"

#include "skyline/space/layer_kind.hpp"

#include "space/network/value_graph.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::space {
namespace {

/// Most networks are chains and need no change.
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

/// A term of a sum, and its number in the sum.
struct Term {
  std::size_t node;
  std::int64_t count;
};
using Terms = std::vector<Term>;

class Writer {
 public:
  Writer(const Network& network, ValueGraph graph)
      : graph_(std::move(graph)), terms_(graph_.nodes.size()), places_(graph_.nodes.size()) {
    result_.input = network.input;
    result_.classes = network.classes;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const ValueNode& node = graph_.nodes[i];
      if (!node.is_sum()) continue;
      for (std::size_t k = 0; k < node.inputs.size(); ++k)
        terms_[i].push_back({node.inputs[k], node.counts[k]});
      sort_by_label(terms_[i]);
    }
  }

  Network run() {
    share_sums();
    write_all();
    return std::move(result_);
  }

 private:
  std::uint64_t label(std::size_t node) const { return graph_.nodes[node].label; }
  void sort_by_label(Terms& terms) const {
    std::ranges::sort(terms, {}, [&](const Term& term) { return label(term.node); });
  }

  void share_sums();
  std::int64_t times_within(const Terms& part, const Terms& whole) const;
  void write_all();
  void write(std::size_t node);
  void write_sum(std::size_t node);
  std::size_t emit(Layer layer, std::vector<std::size_t> inputs);

  ValueGraph graph_;
  std::vector<Terms> terms_;                        // [node]: terms of the sum that the node is
  std::vector<std::optional<std::size_t>> places_;  // place of each node among the layers
  Network result_;
  std::map<std::string, std::size_t> kind_counts_;
};

/// Lets each sum read other sums instead of the terms that they have in common, the largest sums first.
void Writer::share_sums() {
  const auto size = [&](std::size_t sum) {
    std::int64_t total = 0;
    for (const Term& term : terms_[sum]) total += term.count;
    return total;
  };
  std::vector<std::size_t> sums;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    if (!terms_[i].empty()) sums.push_back(i);
  }
  std::ranges::sort(sums, std::greater(), [&](std::size_t i) { return std::pair(size(i), label(i)); });
  for (auto sum = sums.begin(); sum != sums.end(); ++sum) {
    Terms& terms = terms_[*sum];
    Terms shared;
    for (auto other = sum + 1; other != sums.end() && !terms.empty(); ++other) {
      const std::int64_t times = times_within(terms_[*other], terms);
      if (times == 0) continue;
      for (const Term& part : terms_[*other]) {
        const auto same = [&](const Term& term) { return term.node == part.node; };
        std::ranges::find_if(terms, same)->count -= times * part.count;
      }
      std::erase_if(terms, [](const Term& term) { return term.count == 0; });
      shared.push_back({*other, times});
    }
    terms.insert(terms.end(), shared.begin(), shared.end());
    sort_by_label(terms);
  }
}

/// Returns how many times a sum contains all terms of another one.
std::int64_t Writer::times_within(const Terms& part, const Terms& whole) const {
  if (part.size() > whole.size()) return 0;
  std::int64_t times = std::numeric_limits<std::int64_t>::max();
  auto place = whole.begin();
  for (const Term& term : part) {
    while (place != whole.end() && label(place->node) < label(term.node)) ++place;
    if (place == whole.end() || place->node != term.node) return 0;
    times = std::min(times, place->count / term.count);
  }
  return times;
}

/// Writes depth first from the output: each branch is finished before the next one begins.
void Writer::write_all() {
  struct Visit {
    std::size_t node;
    std::size_t next_input = 0;
  };
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    if (terms_[i].empty()) continue;
    graph_.nodes[i].inputs.clear();
    for (const Term& term : terms_[i]) graph_.nodes[i].inputs.push_back(term.node);
  }
  std::vector<Visit> path{{graph_.output}};
  while (!path.empty()) {
    const std::size_t node = path.back().node;
    const std::vector<std::size_t>& inputs = graph_.nodes[node].inputs;
    if (path.back().next_input < inputs.size()) {
      const std::size_t input = inputs[path.back().next_input++];
      const bool needs_layer = input != 0 || inputs.size() > 1 || graph_.nodes[node].is_sum();
      if (!places_[input] && needs_layer) path.push_back({input});
      continue;
    }
    path.pop_back();
    graph_.nodes[node].is_sum() ? write_sum(node) : write(node);
  }
}

void Writer::write(std::size_t node) {
  Layer& layer = graph_.nodes[node].layer;
  if (node == 0) {  // The value is read beside others, or is the output itself, so it needs a layer.
    layer.kind = "identity";
    layer.output = result_.input;
  }
  const std::vector<std::size_t>& sources = graph_.nodes[node].inputs;
  std::vector<std::size_t> inputs;
  if (sources != std::vector<std::size_t>{0}) {
    for (const std::size_t source : sources) inputs.push_back(*places_[source]);
  }
  places_[node] = emit(std::move(layer), std::move(inputs));
}

/// Writes a sum bit by bit of the counts, the highest first: the sum so far is added to itself, and then the
/// terms with this bit are added. Where no term occurs twice this is one layer.
void Writer::write_sum(std::size_t node) {
  std::int64_t all_bits = 0;
  for (const Term& term : terms_[node]) all_bits |= term.count;
  std::optional<std::size_t> end;
  for (int bit = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(all_bits))); bit-- > 0;) {
    std::vector<std::size_t> inputs;
    if (end) inputs = {*end, *end};
    for (const Term& term : terms_[node]) {
      if ((term.count >> bit) % 2 == 1) inputs.push_back(*places_[term.node]);
    }
    std::ranges::sort(inputs);
    end = inputs.size() == 1 ? inputs.front() : emit(graph_.nodes[node].layer, inputs);
    Layer& last = result_.layers[*end];
    if (inputs.size() > 1) last.cost.flops = (std::ssize(inputs) - 1) * last.output.elements();
  }
  places_[node] = end;
}

std::size_t Writer::emit(Layer layer, std::vector<std::size_t> inputs) {
  layer.inputs = std::move(inputs);
  layer.input_shapes.clear();
  for (const std::size_t input : layer.inputs) layer.input_shapes.push_back(result_.layers[input].output);
  if (layer.inputs.empty()) layer.input_shapes = {result_.input};
  layer.name = layer.kind + '_' + std::to_string(kind_counts_[layer.kind]++);
  result_.layers.push_back(std::move(layer));
  return result_.layers.size() - 1;
}

/// Returns whether a layer makes one number per channel of inputs that are so, in the same way for every
/// sample. It may return false for some layers of which that is true.
/// @param are_zeros  whether the inputs are zeros
bool keeps_biases(const Layer& layer, const Traits& traits, bool are_zeros) {
  if (traits.draws) return false;
  if (traits.normalizes()) return true;
  const Value* const kernel = layer.attributes.find("kernel");
  if (kernel == nullptr) return traits.features == Features::kKept && layer.tensors.empty();
  const Value* const padding = layer.attributes.find("padding");
  // The zeros around its input give other values at the edges.
  const bool has_edges =
      *kernel != Value(std::int64_t{1}) || (padding != nullptr && *padding != Value(std::int64_t{0}));
  return are_zeros || !has_edges;
}

}  // namespace

Network canonical_form(Network network) {
  if (is_plain_chain(network)) return network;
  ValueGraph graph = simplified(std::move(network.layers));
  label_nodes(graph);
  return Writer(network, std::move(graph)).run();
}

std::optional<Network> without_biases_in_sums(const Network& network) {
  std::vector<bool> zero;      // whether the output of each layer is
  std::vector<bool> constant;  // whether it does not depend on the input
  std::vector<bool> bias;      // whether it is also one number per channel
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    const Traits traits = traits_of(layer);
    const auto are_all = [&](const std::vector<bool>& facts) {
      return !layer.inputs.empty() &&
             std::ranges::all_of(layer.inputs, [&](std::size_t input) { return facts[input]; });
    };
    zero.push_back(traits.zeros == Zeros::kAlways);
    constant.push_back(zero.back() || are_all(constant));
    bias.push_back(zero.back() || (are_all(bias) && keeps_biases(layer, traits, are_all(zero))));
    const auto is_bias = [&](std::size_t input) { return bias[input]; };
    if (traits.adds && !constant.back() && std::ranges::any_of(layer.inputs, is_bias)) changed.push_back(i);
  }
  if (changed.empty() && !constant.back()) return std::nullopt;
  Network result = network;
  if (constant.back()) {
    result.layers.clear();
    return result;
  }
  for (const std::size_t i : changed) {
    Layer& layer = result.layers[i];
    std::erase_if(layer.inputs, [&](std::size_t input) { return bias[input]; });
    layer.input_shapes.resize(layer.inputs.size());  // all are the same
  }
  return canonical_form(std::move(result));
}

}  // namespace skyline::space
