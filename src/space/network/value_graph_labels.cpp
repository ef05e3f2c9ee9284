#include "core/text/hash.hpp"
#include "space/network/value_graph.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace skyline::space {
namespace {

// Most nodes and connections that are visited while twins are told apart one by one; this takes about a
// second. After that their order decides.
constexpr std::size_t kMostLabelled = 4'000'000;

/// A step of SplitMix64.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t next) {
  std::uint64_t z = (hash ^ (hash >> 29)) * 0x9e3779b97f4a7c15U + next;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/// The other ends of each node's connections. They are stored one after the other for all nodes, because
/// refining visits them dozens of times.
class Connections {
 public:
  struct End {
    std::size_t node;
    std::uint64_t place;  // separates the inputs of a node: their order, or their number in a sum
  };

  /// @param ends  the connections of each node
  explicit Connections(const std::vector<std::vector<End>>& ends) {
    for (const std::vector<End>& of_node : ends) {
      ends_.insert(ends_.end(), of_node.begin(), of_node.end());
      begins_.push_back(ends_.size());
    }
  }
  std::span<const End> of(std::size_t node) const {
    return std::span(ends_).subspan(begins_[node], begins_[node + 1] - begins_[node]);
  }
  std::size_t count() const { return ends_.size(); }

 private:
  std::vector<End> ends_;
  std::vector<std::size_t> begins_{0};
};

using Ends = std::vector<std::vector<Connections::End>>;

std::uint64_t place(const ValueNode& node, std::size_t input) {
  return node.is_sum() ? static_cast<std::uint64_t>(node.counts[input]) : input;
}

Ends inputs_of(const std::vector<ValueNode>& nodes) {
  Ends inputs(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t k = 0; k < nodes[i].inputs.size(); ++k) {
      inputs[i].push_back({nodes[i].inputs[k], place(nodes[i], k)});
    }
  }
  return inputs;
}

Ends readers_of(const std::vector<ValueNode>& nodes) {
  Ends readers(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t k = 0; k < nodes[i].inputs.size(); ++k) {
      readers[nodes[i].inputs[k]].push_back({i, place(nodes[i], k)});
    }
  }
  return readers;
}

class Labelling {
 public:
  explicit Labelling(const ValueGraph& graph)
      : nodes_(graph.nodes), inputs_(inputs_of(nodes_)), readers_(readers_of(nodes_)) {
    for (const ValueNode& node : nodes_) labels_.push_back(first_label(node.layer));
    labels_[0] = 1;
    labels_[graph.output] = mixed(labels_[graph.output], 1);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (i == 0 || !nodes_[i].inputs.empty()) living_.push_back(i);
    }
    twins_ = living_;
  }

  std::vector<std::uint64_t> run() {
    std::size_t labelled = 0;
    for (refine(); !twins_.empty(); refine()) {
      std::uint64_t& label = labels_[twins_.front()];
      label = mixed(label, 2);
      labelled += living_.size() + inputs_.count();
      if (labelled > kMostLabelled) {
        number_twins();
        break;
      }
    }
    return std::move(labels_);
  }

 private:
  /// Labels are kept by content, since many layers are equal and hashing takes long.
  std::uint64_t first_label(const Layer& layer) {
    std::string text = layer.kind;
    for (const auto& [name, value] : layer.attributes) text += ' ' + name + '=' + to_text(value);
    const auto [entry, is_new] = first_labels_.try_emplace(std::move(text));
    if (is_new) entry->second = stable_hash64(entry->first);
    return entry->second;
  }

  /// Refines until the labels tell apart as many nodes as inputs and readers can.
  void refine() {
    for (std::size_t before = 0, now = 1; now > before;) {
      before = now;
      for (const std::size_t i : living_) absorb(i, inputs_.of(i), nodes_[i].is_sum());
      for (auto i = living_.rbegin(); i != living_.rend(); ++i) absorb(*i, readers_.of(*i), true);
      now = count_labels();
    }
  }

  void absorb(std::size_t node, std::span<const Connections::End> ends, bool in_any_order) {
    absorbed_.clear();
    for (const Connections::End& end : ends) absorbed_.push_back(mixed(labels_[end.node], end.place));
    if (in_any_order && absorbed_.size() > 1) std::ranges::sort(absorbed_);
    for (const std::uint64_t label : absorbed_) labels_[node] = mixed(labels_[node], label);
  }

  /// Drops nodes with unique labels from the twins, since they stay unique. The others are sorted by label.
  std::size_t count_labels() {
    std::ranges::sort(twins_, {}, [&](std::size_t i) { return std::pair(labels_[i], i); });
    std::size_t labels = living_.size() - twins_.size();
    std::vector<std::size_t> twins;
    for (auto first = twins_.begin(); first != twins_.end(); ++labels) {
      const auto next =
          std::find_if(first, twins_.end(), [&](std::size_t i) { return labels_[i] != labels_[*first]; });
      if (next - first > 1) twins.insert(twins.end(), first, next);
      first = next;
    }
    twins_ = std::move(twins);
    return labels;
  }

  void number_twins() {
    std::map<std::uint64_t, std::uint64_t> numbers;
    std::ranges::sort(twins_);
    for (const std::size_t i : twins_) {
      const std::uint64_t number = numbers[labels_[i]]++;
      if (number > 0) labels_[i] = mixed(labels_[i], 2 + number);
    }
  }

  const std::vector<ValueNode>& nodes_;
  Connections inputs_;
  Connections readers_;
  std::vector<std::uint64_t> labels_;
  std::map<std::string, std::uint64_t> first_labels_;  // labels by kind and attributes
  std::vector<std::size_t> living_;
  std::vector<std::size_t> twins_;  // nodes in use whose label is not unique
  std::vector<std::uint64_t> absorbed_;
};

}  // namespace

void label_nodes(ValueGraph& graph) {
  const std::vector<std::uint64_t> labels = Labelling(graph).run();
  for (std::size_t i = 0; i < labels.size(); ++i) graph.nodes[i].label = labels[i];
}

}  // namespace skyline::space
