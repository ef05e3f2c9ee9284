#include "train/options/group_size.hpp"

#include "skyline/space/layer_kind.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace skyline::train {
namespace {

constexpr double kLeastEfficiency = 0.8;
constexpr double kBucketBytes = 1024 * 1024;  // bytes of gradients that are summed together

/// The speed of a kind of members. It is no measurement, since the number of members belongs to the result.
struct MemberSpeed {
  double flops_a_second = 0;   // speed of a member in convolutions
  double layer_seconds = 0;    // time of a layer in a step, for any number of samples
  double message_seconds = 0;  // time of a small sum, for each level of its tree
  double bytes_a_second = 0;   // speed of large sums
};
constexpr MemberSpeed kCore{5e10, 1e-5, 5e-5, 2e9};
constexpr MemberSpeed kGpu{1e13, 1e-5, 2e-5, 2e10};

const MemberSpeed& speed_of(MemberKind kind) {
  return kind == MemberKind::kGpu ? kGpu : kCore;
}

double compute_seconds(const space::Network& network, const BatchInParts& batch, const MemberSpeed& speed) {
  constexpr double kPasses = 3;  // forward, and backward by inputs and by parameters
  return kPasses * static_cast<double>(network.cost.flops) * static_cast<double>(batch.samples) /
             speed.flops_a_second +
         speed.layer_seconds * static_cast<double>(network.layers.size()) * static_cast<double>(batch.parts);
}

/// Returns the time of the sums, without overlap with backward.
double sum_seconds(const space::Network& network, const GroupOptions& options, std::uint32_t members,
                   const MemberSpeed& speed) {
  const double bytes = static_cast<double>(network.cost.parameters) * sizeof(float);
  double messages = 1 + std::ceil(bytes / kBucketBytes);  // losses and wishes; gradients
  if (options.statistics == GroupOptions::Statistics::kSynchronized) {
    messages += 2 * static_cast<double>(std::ranges::count_if(
                        network.layers, [](const space::Layer& l) { return traits_of(l).normalizes(); }));
  }
  const auto levels = static_cast<double>(std::bit_width(members - 1));
  const double share = 2 * static_cast<double>(members - 1) / static_cast<double>(members);
  return messages * levels * speed.message_seconds + share * bytes / speed.bytes_a_second;
}

}  // namespace

std::uint32_t most_members(const GroupOptions& options) {
  return options.members.value_or(std::bit_floor(std::max(1U, options.most)));
}

double predicted_efficiency(const space::Network& network, const BatchInParts& batch,
                            const GroupOptions& options, std::uint32_t members, MemberKind kind) {
  const MemberSpeed& speed = speed_of(kind);
  const BatchInParts own{(batch.samples + members - 1) / members, batch.parts};
  const double together =
      compute_seconds(network, own, speed) + sum_seconds(network, options, members, speed);
  return compute_seconds(network, batch, speed) / (members * together);
}

std::uint32_t choose_members(const space::Network& network, const BatchInParts& batch,
                             const GroupOptions& options, MemberKind kind) {
  if (options.members) return *options.members;
  std::uint32_t members = most_members(options);
  while (members > 1 && (members * batch.parts > batch.samples ||
                         predicted_efficiency(network, batch, options, members, kind) < kLeastEfficiency)) {
    members /= 2;
  }
  return members;
}

}  // namespace skyline::train
