#include "engine/weights/inheritance.hpp"

#include "space/network/network_alignment.hpp"

namespace skyline::engine {

trial::Start choose_start(const trial::Proposal& proposal,
                          const std::function<const trial::CommittedTrial*(trial::TrialNumber)>& heritable) {
  const space::Network& child = proposal.architecture->network;
  trial::Inherit best;
  for (const trial::TrialNumber number : proposal.parents) {
    const trial::CommittedTrial* committed = heritable(number);
    if (committed == nullptr) continue;
    const auto& architecture = committed->trial.proposal.architecture;
    const space::Network& parent = architecture->network;
    const double share = space::inherited_share(parent, child, space::align(parent, child));
    if (share > best.share) best = {number, architecture, share, committed->timing.rank};
  }
  if (best.share == 0) return trial::Fresh{};
  return best;
}

}  // namespace skyline::engine
