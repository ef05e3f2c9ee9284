#include "train/kernels/batch_norm_plan.hpp"

#include <cmath>
#include <cstddef>

namespace skyline::train::kernels {
namespace {

/// Calls `visit(place)` for each element of a channel.
template <typename Visit>
void visit_channel(const BatchNormPlan& plan, std::int64_t channel, const Visit& visit) {
  for (std::int64_t sample = 0; sample < plan.samples; ++sample) {
    const std::int64_t first = (sample * plan.channels + channel) * plan.pixels;
    for (std::int64_t place = first; place < first + plan.pixels; ++place) visit(place);
  }
}

float normalized(const BatchNormPlan& plan, std::int64_t channel, std::int64_t place) {
  const float scale = plan.inverse_deviation[channel] * plan.weight[channel];
  return std::fma(plan.input[place] - plan.mean[channel], scale, plan.bias[channel]);
}

}  // namespace

void batch_norm_forward(const BatchNormPlan& plan) {
  const auto rows = static_cast<double>(plan.rows());
  for (std::int64_t c = 0; c < plan.channels; ++c) {
    double mean = 0;
    visit_channel(plan, c,
                  [&](std::int64_t place) { mean += static_cast<double>(plan.input[place]) / rows; });
    double squares = 0;
    visit_channel(plan, c, [&](std::int64_t place) {
      const double deviation = static_cast<double>(plan.input[place]) - mean;
      squares += deviation * deviation;
    });
    plan.mean[c] = static_cast<float>(mean);
    plan.inverse_deviation[c] =
        static_cast<float>(1 / std::sqrt(squares / rows + static_cast<double>(plan.epsilon)));
    const auto offset = static_cast<float>(mean) + (plan.offset == nullptr ? 0.0F : plan.offset[c]);
    const auto variance = static_cast<float>(squares / (rows - 1));
    plan.running_mean[c] += plan.momentum * (offset - plan.running_mean[c]);
    plan.running_variance[c] += plan.momentum * (variance - plan.running_variance[c]);
    visit_channel(plan, c, [&](std::int64_t place) {
      const float value = normalized(plan, c, place);
      plan.output[place] = plan.relu && value < 0 ? 0.0F : value;
    });
  }
}

void batch_norm_backward(const BatchNormPlan& plan) {
  const auto rows = static_cast<double>(plan.rows());
  for (std::int64_t c = 0; c < plan.channels; ++c) {
    const auto slope_at = [&](std::int64_t place) {
      return plan.relu && normalized(plan, c, place) <= 0 ? 0.0 : static_cast<double>(plan.gradient[place]);
    };
    const auto deviation_at = [&](std::int64_t place) {
      return static_cast<double>((plan.input[place] - plan.mean[c]) * plan.inverse_deviation[c]);
    };
    double sum = 0;
    double products = 0;
    visit_channel(plan, c, [&](std::int64_t place) {
      sum += slope_at(place);
      products += slope_at(place) * deviation_at(place);
    });
    plan.bias_gradient[c] = static_cast<float>(sum);
    plan.weight_gradient[c] = static_cast<float>(products);
    const double scale = static_cast<double>(plan.inverse_deviation[c]) * static_cast<double>(plan.weight[c]);
    visit_channel(plan, c, [&](std::int64_t place) {
      const double tilt = (sum + deviation_at(place) * products) / rows;
      plan.input_gradient[place] = static_cast<float>(scale * (slope_at(place) - tilt));
    });
  }
}

}  // namespace skyline::train::kernels
