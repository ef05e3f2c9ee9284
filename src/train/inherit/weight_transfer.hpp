#pragma once

#include "skyline/space/network.hpp"
#include "skyline/trial/evaluator.hpp"

#include <vector>

namespace skyline::train {

/// Returns initial values for a child that starts from its parent's trained tensors. Where the child is not
/// smaller, it then computes what the parent does, in evaluation mode. Local; a function of the arguments.
///
/// - A layer that continues one of the parent (space::align) takes the common block of each tensor. New
///   inputs and the new rim of its window start at zero; new outputs keep their fresh values, and the layers
///   that read them start with zeros there.
/// - An added convolution or linear layer passes its input on, if it can; an added batch norm whose input's
///   statistics are known by the batch norm before it passes that on.
/// - A branch that is added to a sum starts at zero: the weight and bias of its last layer that has any.
///
/// All other layers keep fresh values.
/// @param trained  every tensor of the parent, in any order
/// @param fresh    every tensor of the child as it was drawn, in the order of its layers and their tensors
/// @throws InternalError if tensors are not those of their network
/// @see Chen et al., Net2Net, ICLR 2016
std::vector<trial::NamedTensor> inherit_weights(const space::Network& parent,
                                                const std::vector<trial::NamedTensor>& trained,
                                                const space::Network& child,
                                                std::vector<trial::NamedTensor> fresh);

}  // namespace skyline::train
