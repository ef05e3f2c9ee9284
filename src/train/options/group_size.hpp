#pragma once

#include "skyline/space/network.hpp"

#include "train/options/training_options.hpp"

#include <cstdint>

namespace skyline::train {

/// Returns the largest number of members that a group may have.
std::uint32_t most_members(const GroupOptions& options);

/// What a member computes on: a processor's core, or a GPU of its own.
enum class MemberKind { kCore, kGpu };

/// A training step's batch, in parts that are computed one after the other (training.accumulate).
struct BatchInParts {
  std::int64_t samples = 0;
  std::int64_t parts = 1;
};

/// Predicts the efficiency of `members` in a training step: the share of their time that a single member
/// would need too; 1 for one member. It models a fast network; elsewhere it is too low.
double predicted_efficiency(const space::Network& network, const BatchInParts& batch,
                            const GroupOptions& options, std::uint32_t members,
                            MemberKind kind = MemberKind::kCore);

/// Chooses the number of members: that of the options, else the largest power of two, not above
/// `options.most` and leaving each part of a member a sample, with a predicted efficiency of at least 80 %.
/// It depends only on its arguments, because it defines the trial's result.
std::uint32_t choose_members(const space::Network& network, const BatchInParts& batch,
                             const GroupOptions& options, MemberKind kind = MemberKind::kCore);

}  // namespace skyline::train
