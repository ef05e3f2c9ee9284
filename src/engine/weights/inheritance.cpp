#include "engine/weights/inheritance.hpp"

#include "space/network/network_alignment.hpp"

namespace skyline::engine {

std::shared_ptr<const trial::Inheritance> choose_inheritance(
    const trial::Proposal& proposal, std::span<const trial::CommittedTrial> committed,
    const std::function<bool(trial::TrialNumber)>& has_weights) {
  const space::Network& child = proposal.architecture->network;
  trial::Inheritance best;
  for (const trial::TrialNumber number : proposal.parents) {
    if (!has_weights(number)) continue;
    const auto& architecture = committed[number].trial.proposal.architecture;
    const space::Network& parent = architecture->network;
    const double share = space::inherited_share(parent, child, space::align(parent, child));
    if (share > best.share) best = {number, architecture, share, committed[number].timing.rank};
  }
  if (best.share == 0) return nullptr;
  return std::make_shared<const trial::Inheritance>(std::move(best));
}

}  // namespace skyline::engine
