#pragma once

#include "skyline/space/network.hpp"

#include <optional>

namespace skyline::space {

/// Returns the canonical form: one network for all networks that compute the same from the same weights.
/// - Layers that the output does not depend on, and identities, are left out.
/// - A zero added to something is left out. A layer whose output is always zero becomes a `zero`, which reads
///   only the number of samples.
/// - A sum of sums is one sum. It then reads the largest other sums that it contains, and gets 2n of a term
///   by doubling n of it.
/// - Layers without tensors and draws that have the same inputs are one layer.
/// - The order of layers, and of the inputs of a sum, depends on the graph and not on its listing.
/// Outputs and gradients stay the same, except for the rounding of sums that are added in another order.
/// Layers get new names, and sums new costs. Deterministic. Networks with the same graph have the same form,
/// unless the graph is of the rare kind that the refinement of colours cannot tell apart, or has a thousand
/// equal branches.
Network canonical_form(Network network);

/// Returns the canonical form of the network without those terms of sums that are one number per channel,
/// whatever the input is, as a batch norm of zeros is: a bias. A network whose output does not depend on its
/// input has no layers then. Returns nullopt if there is nothing to leave out.
/// @pre the network has its canonical form
std::optional<Network> without_biases_in_sums(const Network& network);

}  // namespace skyline::space
