#include "engine/inheritance.hpp"

#include "skyline/space/network_alignment.hpp"

namespace skyline::engine {

std::shared_ptr<const objective::Inheritance> choose_inheritance(
    const objective::Proposal& proposal, std::span<const objective::CommittedTrial> committed,
    const std::function<bool(objective::TrialNumber)>& has_weights) {
  const space::Network& child = proposal.architecture->network;
  objective::Inheritance best;
  for (const objective::TrialNumber number : proposal.parents) {
    if (!has_weights(number)) continue;
    const auto& architecture = committed[number].trial.proposal.architecture;
    const space::Network& parent = architecture->network;
    const double share = space::inherited_share(parent, child, space::align(parent, child));
    if (share > best.share) best = {number, architecture, share, committed[number].timing.rank};
  }
  if (best.share == 0) return nullptr;
  return std::make_shared<const objective::Inheritance>(std::move(best));
}

}  // namespace skyline::engine
