#include "evaluate/synthetic/rugged_landscape.hpp"

#include "skyline/core/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace skyline::evaluate {
namespace {

constexpr std::size_t kStages = 12;
constexpr std::size_t kMostNeighbours = 8;
constexpr std::array<double, 4> kKernels{1, 3, 5, 7};

double share(std::uint64_t seed, const std::string& purpose, std::uint64_t first = 0,
             std::uint64_t second = 0) {
  return RandomStream(derive_seed(seed, "evaluate.rugged." + purpose, {first, second})).uniform();
}

/// A layer that computes: a convolution, a matrix product, a pooling.
struct ComputingLayer {
  std::uint64_t stage = 0;
  std::uint64_t form = 0;  // hash of the kind and the attributes besides width and place
  double kernel = 1;
  double channels = 1;
};

bool is_operation(const space::Layer& layer) {
  return layer.cost.macs > 0 || layer.attributes.find("kernel") != nullptr;
}

/// Returns the kind with those attributes that other layers of the network do not imply.
std::string form_of(const space::Layer& layer) {
  constexpr std::array<std::string_view, 6> kImplied{"channels", "features", "kernel",
                                                     "padding",  "stride",   "bias"};
  std::string form = layer.kind;
  for (const auto& [name, value] : layer.attributes) {
    if (std::ranges::find(kImplied, name) == kImplied.end()) form += ' ' + name + '=' + space::to_text(value);
  }
  return form;
}

/// Returns how often the resolution of the input was halved.
std::uint64_t stage_of(const space::Network& network, const space::Layer& layer) {
  const bool has_height = network.input.height > 1;
  std::int64_t left = std::max<std::int64_t>(network.input.height * network.input.width, 1) /
                      std::max<std::int64_t>(layer.output.height * layer.output.width, 1);
  std::uint64_t stage = 0;
  for (const std::int64_t factor = has_height ? 4 : 2; left >= factor && stage + 1 < kStages; ++stage)
    left /= factor;
  return stage;
}

/// Sums over the network, as its layers are read in their order.
class RuggedNetwork {
 public:
  RuggedNetwork(const space::Network& network, std::uint64_t seed) : network_(network), seed_(seed) {}
  double quality();

 private:
  void add_operation(const space::Layer& layer);
  void add_pair(const ComputingLayer& before, const ComputingLayer& after);
  double gain() const;
  double overfitting() const;

  const space::Network& network_;
  std::uint64_t seed_;
  std::vector<ComputingLayer> operations_;
  std::array<double, kStages> totals_{};
  std::array<bool, kStages> present_{};
  double pairs_ = 0;
  double harmony_ = 0;
  double jumps_ = 0;
};

void RuggedNetwork::add_operation(const space::Layer& layer) {
  ComputingLayer& operation = operations_.emplace_back();
  operation.stage = stage_of(network_, layer);
  operation.form = derive_seed(seed_, form_of(layer));
  const auto [height, width] = space::attribute_sides_or(layer, "kernel", {1, 1});
  operation.kernel =
      height == width ? static_cast<double>(width) : std::sqrt(static_cast<double>(height * width));
  operation.channels = static_cast<double>(std::max<std::int64_t>(layer.output.channels, 1));

  const std::uint64_t stage = operation.stage;
  const double best = kKernels.at(static_cast<std::size_t>(4 * share(seed_, "kernel", stage)));
  const double distance = operation.kernel - best;
  const double fit = 0.5 + 1 / (1 + distance * distance / 4);
  const double kind = 0.6 + 0.8 * share(seed_, "kind", operation.form, stage);
  const double wide = 8 * static_cast<double>(1 + stage) * (0.5 + share(seed_, "width", stage));
  totals_.at(stage) += fit * kind * operation.channels / (operation.channels + wide);
  present_.at(stage) = true;
}

void RuggedNetwork::add_pair(const ComputingLayer& before, const ComputingLayer& after) {
  const auto kernels = static_cast<std::uint64_t>(before.kernel * 64 + after.kernel);
  const std::uint64_t forms = derive_seed(before.form, "then", {after.form, kernels});
  harmony_ += 2 * share(seed_, "pair", forms, after.stage) - 1;
  const double jump = (after.channels - before.channels) / (after.channels + before.channels);
  jumps_ += jump * jump;
  ++pairs_;
}

double RuggedNetwork::gain() const {
  double gain = 0;
  double most = 0;
  for (std::uint64_t stage = 0; stage < kStages; ++stage) {
    if (!present_.at(stage)) continue;
    const double weight = 0.5 + share(seed_, "weight", stage);
    most += weight;
    gain += weight * totals_.at(stage) / (totals_.at(stage) + 0.5 + 2 * share(seed_, "depth", stage));
  }
  return most == 0 ? 0 : gain / most;
}

double RuggedNetwork::overfitting() const {
  const double enough = 3e5 * (0.5 + share(seed_, "samples"));
  const double excess = static_cast<double>(network_.cost.parameters) / enough;
  const double share_of_excess = excess / (excess + 4);
  return share_of_excess * share_of_excess;
}

double RuggedNetwork::quality() {
  std::vector<std::vector<std::size_t>> nearest(
      network_.layers.size());  // operations that a layer's values come from
  double sums = 0;
  double others = 0;
  double help = 0;
  for (std::size_t i = 0; i < network_.layers.size(); ++i) {
    const space::Layer& layer = network_.layers[i];
    std::vector<std::size_t> before;
    for (const std::size_t input : layer.inputs)
      before.insert(before.end(), nearest[input].begin(), nearest[input].end());
    std::ranges::sort(before);
    before.erase(std::ranges::unique(before).begin(), before.end());
    if (before.size() > kMostNeighbours) before.resize(kMostNeighbours);
    if (is_operation(layer)) {
      add_operation(layer);
      for (const std::size_t one : before) add_pair(operations_[one], operations_.back());
      nearest[i] = {operations_.size() - 1};
      continue;
    }
    nearest[i] = std::move(before);
    if (layer.kind == "add") ++sums;
    ++others;
    help += 2 * share(seed_, "between " + form_of(layer)) - 1;
  }
  const auto operations = static_cast<double>(operations_.size());
  double quality = 0.35 + 0.55 * gain() - 0.25 * overfitting() + 0.05 * sums / (sums + operations / 4 + 1);
  if (pairs_ > 0) quality += (0.2 * harmony_ - 0.1 * jumps_) / pairs_;
  if (others > 0) quality += 0.03 * help / others;
  return std::clamp(quality, 0.0, 1.0);
}

}  // namespace

double rugged_quality(const space::Network& network, std::uint64_t seed) {
  return RuggedNetwork(network, seed).quality();
}

}  // namespace skyline::evaluate
