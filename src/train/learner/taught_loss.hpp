#pragma once

#include "train/kernels/teach.hpp"
#include "train/learner/loss.hpp"

#include <memory>

namespace skyline::train {

/// Returns the kernel's word for how a teacher's outputs become targets.
kernels::Softening softening_of(store::TargetKind targets);

/// Returns a loss that draws a network to a teacher as well: (1 - weight) times the loss of the targets, plus
/// weight times the distance to the teacher. For classes and labels that is temperature^2 times the
/// Kullback-Leibler divergence of the outputs' softened shares from the teacher's, for numbers the squared
/// error, mean over the outputs. Held-out samples are scored by `loss` alone.
/// @param loss  not null
/// @see Hinton et al., Distilling the Knowledge in a Neural Network, 2015
std::unique_ptr<Loss> taught_loss(std::unique_ptr<Loss> loss, const TeacherOptions& options,
                                  store::TargetKind targets);

}  // namespace skyline::train
