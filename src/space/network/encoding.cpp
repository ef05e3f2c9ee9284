#include "skyline/space/encoding.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace skyline::space {
namespace {

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

/// Places of labels: kinds, values of their attributes, and "with weights".
class Labels {
 public:
  explicit Labels(const Network& network) {
    for (const Layer& layer : network.layers) of_layers_.push_back(labels_of(layer));
  }
  std::size_t size() const { return places_.size(); }
  const std::map<std::string, std::size_t>& places() const { return places_; }
  const std::vector<std::size_t>& of_layer(std::size_t layer) const { return of_layers_[layer]; }

 private:
  std::size_t place_of(std::string label) {
    return places_.try_emplace(std::move(label), places_.size()).first->second;
  }
  std::vector<std::size_t> labels_of(const Layer& layer) {
    std::vector<std::size_t> labels{place_of(layer.kind)};
    for (const auto& [name, value] : layer.attributes) {
      labels.push_back(place_of(layer.kind + ' ' + name + '=' + to_text(value)));
    }
    if (std::ranges::any_of(layer.tensors, &TensorSpec::trainable))
      labels.push_back(place_of("with weights"));
    return labels;
  }

  std::map<std::string, std::size_t> places_;
  std::vector<std::vector<std::size_t>> of_layers_;
};

/// What is true of the paths from the input to a layer, itself included; one number per label.
struct Paths {
  double log_count = 0;
  std::vector<double> most;
  std::vector<double> least;
  std::vector<double> average;
};

/// Joins the paths to the inputs of a layer.
Paths join(const std::vector<Paths>& paths, const std::vector<std::size_t>& inputs) {
  Paths all = paths[inputs.front()];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Paths& other = paths[inputs[i]];
    const double larger = std::max(all.log_count, other.log_count);
    const double log_count = larger + std::log1p(std::exp(std::min(all.log_count, other.log_count) - larger));
    const double share = std::exp(other.log_count - log_count);
    for (std::size_t label = 0; label < all.most.size(); ++label) {
      all.most[label] = std::max(all.most[label], other.most[label]);
      all.least[label] = std::min(all.least[label], other.least[label]);
      all.average[label] += share * (other.average[label] - all.average[label]);
    }
    all.log_count = log_count;
  }
  return all;
}

/// Returns the paths from the input to the output of a network that has layers.
Paths paths_through(const Network& network, const Labels& labels) {
  const std::vector<double> none(labels.size(), 0.0);
  std::vector<std::size_t> readers(network.layers.size(), 0);  // layers that are still to read each one
  for (const Layer& layer : network.layers) {
    for (const std::size_t input : layer.inputs) ++readers[input];
  }
  std::vector<Paths> paths;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const std::vector<std::size_t>& inputs = network.layers[i].inputs;
    Paths here = inputs.empty() ? Paths{0, none, none, none} : join(paths, inputs);
    for (const std::size_t input : inputs) {
      if (--readers[input] == 0) paths[input] = {};
    }
    for (const std::size_t label : labels.of_layer(i)) {
      ++here.most[label];
      ++here.least[label];
      ++here.average[label];
    }
    paths.push_back(std::move(here));
  }
  return std::move(paths.back());
}

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

std::vector<Feature> features(const Network& network) {
  std::vector<Feature> features;
  for (const NamedCost& cost : kCosts) {
    features.push_back(
        {std::string("log ") + cost.name, std::log1p(static_cast<double>(network.cost.*cost.value))});
  }
  std::size_t connections = 0;
  for (const Layer& layer : network.layers) connections += layer.inputs.size();
  features.push_back({"all connections", static_cast<double>(connections)});
  features.push_back({"all layers", static_cast<double>(network.layers.size())});
  if (!network.layers.empty()) {
    const Labels labels(network);
    const Paths paths = paths_through(network, labels);
    std::vector<double> counts(labels.size(), 0.0);
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
      for (const std::size_t label : labels.of_layer(i)) ++counts[label];
    }
    features.push_back({"log paths", paths.log_count});
    for (const auto& [label, place] : labels.places()) {
      features.push_back({label, counts[place]});
      features.push_back({label + ", longest", paths.most[place]});
      features.push_back({label + ", shortest", paths.least[place]});
      features.push_back({label + ", mean", paths.average[place]});
    }
  }
  std::ranges::sort(features, {}, &Feature::name);
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
