#include "train/kernels/optimizer_kernels.hpp"

#include "train/kernels/chunks.hpp"
#include "train/kernels/lanes.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::train::kernels {
namespace {

/// Calls update(first, count) for parts of a parameter, on several threads if it is large.
template <typename Update>
void for_parts(std::size_t elements, const Update& update) {
  constexpr std::size_t kPart = 4096;
  in_parallel((elements + kPart - 1) / kPart, kPart, [&](std::size_t first, std::size_t last) {
    update(first * kPart, std::min(elements, last * kPart) - first * kPart);
  });
}

SKYLINE_MULTI_TARGET void adam_part(const AdamStep& step, std::size_t count,
                                    const float* __restrict__ gradient, float* __restrict__ value,
                                    float* __restrict__ first_moment, float* __restrict__ second_moment) {
  const AdamStep s = step;
  for (std::size_t i = 0; i < count; ++i) {
    const float slope = gradient[i] + s.weight_decay * value[i];
    const float first = first_moment[i] + (1.0F - s.beta1) * (slope - first_moment[i]);
    const float second = s.beta2 * second_moment[i] + (1.0F - s.beta2) * slope * slope;
    first_moment[i] = first;
    second_moment[i] = second;
    value[i] =
        value[i] * s.kept - s.step_size * first / (std::sqrt(second) * s.inverse_root_correction + s.epsilon);
  }
}

SKYLINE_MULTI_TARGET void sgd_part(const SgdStep& step, std::size_t count, const float* __restrict__ gradient,
                                   float* __restrict__ value, float* __restrict__ velocity) {
  const SgdStep s = step;
  for (std::size_t i = 0; i < count; ++i) {
    const float slope = gradient[i] + s.weight_decay * value[i];
    const float speed = s.momentum * velocity[i] + slope;
    velocity[i] = speed;
    const float direction = s.nesterov ? slope + s.momentum * speed : speed;
    value[i] -= s.learning_rate * direction;
  }
}

}  // namespace

void adam(const AdamStep& step, std::size_t count, const float* gradient, float* value, float* first_moment,
          float* second_moment) {
  for_parts(count, [&](std::size_t first, std::size_t part) {
    adam_part(step, part, gradient + first, value + first, first_moment + first, second_moment + first);
  });
}

void sgd(const SgdStep& step, std::size_t count, const float* gradient, float* value, float* velocity) {
  for_parts(count, [&](std::size_t first, std::size_t part) {
    sgd_part(step, part, gradient + first, value + first, velocity + first);
  });
}

}  // namespace skyline::train::kernels
