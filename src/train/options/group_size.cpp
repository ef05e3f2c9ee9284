#include "train/options/group_size.hpp"

#include "skyline/space/layer_kind.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace skyline::train {
namespace {

constexpr double kLeastEfficiency = 0.8;
constexpr double kFlopsASecond = 5e10;        // speed of a member: a CPU's core in convolutions
constexpr double kLayerSeconds = 1e-5;        // time of a layer in a step, for any number of samples
constexpr double kMessageSeconds = 5e-5;      // time of a small sum, for each level of its tree
constexpr double kBytesASecond = 2e9;         // speed of large sums
constexpr double kBucketBytes = 1024 * 1024;  // bytes of gradients that are summed together

double compute_seconds(const space::Network& network, std::int64_t samples) {
  constexpr double kPasses = 3;  // forward, and backward by inputs and by parameters
  return kPasses * static_cast<double>(network.cost.flops) * static_cast<double>(samples) / kFlopsASecond +
         kLayerSeconds * static_cast<double>(network.layers.size());
}

/// Returns the time of the sums, without overlap with backward.
double sum_seconds(const space::Network& network, const GroupOptions& options, std::uint32_t members) {
  const double bytes = static_cast<double>(network.cost.parameters) * sizeof(float);
  double messages = 1 + std::ceil(bytes / kBucketBytes);  // losses and wishes; gradients
  if (options.statistics == GroupOptions::Statistics::kSynchronized) {
    messages += 2 * static_cast<double>(std::ranges::count_if(
                        network.layers, [](const space::Layer& l) { return traits_of(l).normalizes(); }));
  }
  const auto levels = static_cast<double>(std::bit_width(members - 1));
  const double share = 2 * static_cast<double>(members - 1) / static_cast<double>(members);
  return messages * levels * kMessageSeconds + share * bytes / kBytesASecond;
}

}  // namespace

double predicted_efficiency(const space::Network& network, std::int64_t batch, const GroupOptions& options,
                            std::uint32_t members) {
  const std::int64_t samples = (batch + members - 1) / members;
  const double together = compute_seconds(network, samples) + sum_seconds(network, options, members);
  return compute_seconds(network, batch) / (members * together);
}

std::uint32_t choose_members(const space::Network& network, std::int64_t batch, const GroupOptions& options) {
  if (options.members) return *options.members;
  std::uint32_t members = std::bit_floor(std::max(1U, options.most));
  while (members > 1 &&
         (members > batch || predicted_efficiency(network, batch, options, members) < kLeastEfficiency)) {
    members /= 2;
  }
  return members;
}

}  // namespace skyline::train
