#include "skyline/space/encoding.hpp"

#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

namespace skyline::space {
namespace {

constexpr std::size_t kLongest = 3;  // layers of a sequence
constexpr std::size_t kPlaces = 64;  // places for the sequences of one length

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

std::string text_of(const Layer& layer) {
  std::string text = layer.kind;
  for (const auto& [name, value] : layer.attributes) text += ' ' + name + '=' + to_text(value);
  return text;
}

/// Returns the number of layers on the longest path from the input to each layer.
std::vector<double> depths_of(const Network& network) {
  std::vector<double> depths;
  for (const Layer& layer : network.layers) {
    double depth = 0;
    for (const std::size_t input : layer.inputs) depth = std::max(depth, depths[input]);
    depths.push_back(depth + 1);
  }
  return depths;
}

/// Counts the sequences that end with a layer, by going back along its inputs.
class SequenceCounter {
 public:
  SequenceCounter(const Network& network, std::vector<double>& counts) : network_(network), counts_(counts) {
    for (const Layer& layer : network.layers) texts_.push_back(text_of(layer));
  }

  void count(std::size_t layer, const std::string& behind = {}, std::size_t length = 1) {
    const std::string text = texts_[layer] + '\n' + behind;
    counts_[(length - 1) * kPlaces + stable_hash64(text) % kPlaces] += 1;
    if (length == kLongest) return;
    for (const std::size_t input : network_.layers[layer].inputs) count(input, text, length + 1);
  }

 private:
  const Network& network_;
  std::vector<double>& counts_;
  std::vector<std::string> texts_;
};

}  // namespace

std::vector<double> encode(const SearchSpace& space, const Architecture& architecture) {
  std::vector<double> code;
  for (std::size_t i = 0; i < space.parameters().size(); ++i) {
    const std::vector<Value>& values = space.parameters()[i].values;
    const std::uint32_t choice = architecture.genotype.choices.at(i);
    const bool used = architecture.used.at(i);
    if (std::ranges::all_of(values, is_number)) {
      const auto last = static_cast<double>(std::max<std::size_t>(values.size() - 1, 1));
      code.push_back(used ? choice / last : -1);
      continue;
    }
    for (std::size_t value = 0; value < values.size(); ++value) {
      code.push_back(used && value == choice ? 1 : 0);
    }
  }
  return code;
}

std::vector<double> encode(const Network& network) {
  const Cost& cost = network.cost;
  std::vector<double> features;
  for (const std::int64_t number : {cost.parameters, cost.flops, cost.macs, cost.peak_activation_bytes,
                                    cost.training_activation_bytes, cost.weight_bytes}) {
    features.push_back(static_cast<double>(number));
  }
  double connections = 0;
  for (const Layer& layer : network.layers) connections += static_cast<double>(layer.inputs.size());
  features.push_back(static_cast<double>(network.layers.size()));
  features.push_back(connections);
  features.push_back(network.layers.empty() ? 0 : depths_of(network).back());
  std::vector<double> sequences(kLongest * kPlaces, 0);
  SequenceCounter counter(network, sequences);
  for (std::size_t i = 0; i < network.layers.size(); ++i) counter.count(i);
  features.insert(features.end(), sequences.begin(), sequences.end());
  for (double& feature : features) feature = std::log1p(feature);
  return features;
}

std::vector<Architecture> neighbours(const SearchSpace& space, const Genotype& genotype) {
  const Architecture centre = space.build(genotype);
  std::set<ArchId> known{centre.id};
  std::vector<Architecture> found;
  for (std::size_t i = 0; i < centre.used.size(); ++i) {
    for (std::uint32_t choice = 0; centre.used[i] && choice < space.parameters()[i].values.size(); ++choice) {
      Genotype near = genotype;
      near.choices[i] = choice;
      if (near == genotype) continue;
      try {
        Architecture architecture = space.build(near);
        if (known.insert(architecture.id).second) found.push_back(std::move(architecture));
      } catch (const UserError&) {  // shapes that do not fit are not an architecture
      }
    }
  }
  return found;
}

}  // namespace skyline::space
