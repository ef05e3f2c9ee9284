#pragma once

#include "skyline/space/network.hpp"

namespace skyline::space {

/// The network that stands for all networks which compute the same from the same weights:
/// - layers that the output does not depend on, and identities, are left out;
/// - a zero added to something is left out, and a layer whose output is always zero becomes a `zero` that
///   reads nothing but the number of samples;
/// - a sum of sums is one sum, which then reads the largest other sums that it contains, and has 2n of a term
///   by doubling n of it;
/// - layers without tensors and draws that have the same inputs are one layer;
/// - the order of layers, and of the inputs of a sum, follows from the graph and not from its listing.
/// Outputs and gradients stay the same, but for the rounding of sums that are added in another order. Names
/// are numbered anew. Deterministic; networks whose graphs are the same have the same form, unless the graphs
/// are of the rare kind that the refinement of colours cannot tell apart, or have a thousand equal branches.
/// Costs of sums are filled in anew.
Network canonical_form(Network network);

}  // namespace skyline::space
