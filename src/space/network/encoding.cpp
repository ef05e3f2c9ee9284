#include "skyline/space/encoding.hpp"

#include "skyline/core/error.hpp"

#include "space/expressions/expression.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace skyline::space {
namespace {

/// The sorts of layers that are counted along paths. A step is a layer that does not only join others.
constexpr std::array<const char*, 2> kSorts{"steps", "with weights"};
using Counts = std::array<double, kSorts.size()>;  // one number for each of kSorts

/// Returns 1 for each sort that the layer is of.
Counts counts_of(const Layer& layer) {
  return {layer.inputs.size() < 2 ? 1.0 : 0.0,
          std::ranges::any_of(layer.tensors, &TensorSpec::trainable) ? 1.0 : 0.0};
}

/// What is true of the paths from the input to a layer, itself included.
struct Paths {
  double log_count = 0;
  Counts most{};
  Counts least{};
  Counts average{};
};

/// Joins the paths to the inputs of a layer.
Paths join(const std::vector<Paths>& paths, const std::vector<std::size_t>& inputs) {
  Paths all = paths[inputs.front()];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Paths& other = paths[inputs[i]];
    const double larger = std::max(all.log_count, other.log_count);
    const double log_count = larger + std::log1p(std::exp(std::min(all.log_count, other.log_count) - larger));
    const double share = std::exp(other.log_count - log_count);
    for (std::size_t sort = 0; sort < all.most.size(); ++sort) {
      all.most[sort] = std::max(all.most[sort], other.most[sort]);
      all.least[sort] = std::min(all.least[sort], other.least[sort]);
      all.average[sort] += share * (other.average[sort] - all.average[sort]);
    }
    all.log_count = log_count;
  }
  return all;
}

/// Returns the paths from the input to the output of a network that has layers.
Paths paths_through(const Network& network) {
  std::vector<Paths> paths;
  for (const Layer& layer : network.layers) {
    Paths& here = paths.emplace_back(layer.inputs.empty() ? Paths() : join(paths, layer.inputs));
    const Counts counts = counts_of(layer);
    for (std::size_t sort = 0; sort < counts.size(); ++sort) {
      here.most[sort] += counts[sort];
      here.least[sort] += counts[sort];
      here.average[sort] += counts[sort];
    }
  }
  return paths.back();
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
  std::vector<Feature> features{{"log macs", std::log1p(static_cast<double>(network.cost.macs))},
                                {"log parameters", std::log1p(static_cast<double>(network.cost.parameters))}};
  const Cost& cost = network.cost;
  if (cost.int8_peak_activation_bytes > 0) {
    features.push_back({"log int8 peak", std::log1p(static_cast<double>(cost.int8_peak_activation_bytes))});
    features.push_back({"log int8 weights", std::log1p(static_cast<double>(cost.int8_weight_bytes))});
  }
  if (!network.layers.empty()) {
    const Paths paths = paths_through(network);
    features.push_back({"log paths", paths.log_count});
    for (std::size_t sort = 0; sort < kSorts.size(); ++sort) {
      const std::string name = kSorts[sort];
      features.push_back({name + ", longest", paths.most[sort]});
      features.push_back({name + ", shortest", paths.least[sort]});
      features.push_back({name + ", mean", paths.average[sort]});
    }
  }
  std::map<std::string, double> counts;
  for (const Layer& layer : network.layers) {
    ++counts[layer.kind];
    for (const auto& [name, value] : layer.attributes)
      ++counts[layer.kind + ' ' + name + '=' + to_text(value)];
    const Counts sorts = counts_of(layer);
    for (std::size_t sort = 0; sort < sorts.size(); ++sort) counts[kSorts[sort]] += sorts[sort];
  }
  for (const auto& [name, count] : counts) features.push_back({name, count, true});
  std::ranges::sort(features, {}, &Feature::name);
  return features;
}

std::vector<Feature> features(const Architecture& architecture) {
  return architecture.has_network() ? features(architecture.network()) : std::vector<Feature>();
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
