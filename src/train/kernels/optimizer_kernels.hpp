#pragma once

#include <cstddef>

/// One pass over a parameter, its gradient and its optimizer state, for any number of floats. The bits are
/// the same on every machine and for any number of threads.
namespace skyline::train::kernels {

struct AdamStep {
  float beta1;
  float beta2;
  float epsilon;
  float weight_decay;             // this times the value is added to the gradient
  float kept;                     // factor of the value before the update: 1 - decoupled decay
  float step_size;                // learning_rate / (1 - beta1^t)
  float inverse_root_correction;  // 1 / sqrt(1 - beta2^t)
};
void adam(const AdamStep& step, std::size_t count, const float* gradient, float* value, float* first_moment,
          float* second_moment);

struct SgdStep {
  float learning_rate;
  float momentum;
  float weight_decay;
  bool nesterov;
};
/// @param velocity  zeros before the first step
void sgd(const SgdStep& step, std::size_t count, const float* gradient, float* value, float* velocity);

}  // namespace skyline::train::kernels
