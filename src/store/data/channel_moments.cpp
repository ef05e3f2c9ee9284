#include "store/data/channel_moments.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::store {

ChannelMoments::ChannelMoments(std::size_t channels, std::size_t plane, double value_scale)
    : plane_(plane), value_scale_(value_scale), channels_(channels) {}

void ChannelMoments::add(std::span<const std::uint8_t> pixels) {
  for (std::size_t begin = 0; begin < pixels.size(); begin += plane_) {
    std::vector<std::uint64_t>& counts = channels_[begin / plane_ % channels_.size()].counts;
    counts.resize(256);
    for (const std::uint8_t pixel : pixels.subspan(begin, plane_)) ++counts[pixel];
  }
}

void ChannelMoments::add(std::span<const float> values) {
  for (std::size_t begin = 0; begin < values.size(); begin += plane_) {
    Channel& channel = channels_[begin / plane_ % channels_.size()];
    if (channel.floats == 0) channel.first = static_cast<double>(values[begin]);
    channel.floats += plane_;
    for (const float value : values.subspan(begin, plane_)) {
      const double distance = static_cast<double>(value) - channel.first;
      channel.sum += distance;
      channel.squares += distance * distance;
    }
  }
}

ChannelMoments::Moments ChannelMoments::of(const Channel& channel) const {
  if (channel.floats > 0) {
    const auto samples = static_cast<double>(channel.floats);
    const double distance = channel.sum / samples;
    const double variance = channel.squares / samples - distance * distance;
    return {(channel.first + distance) / value_scale_,
            std::max(variance, 0.0) / (value_scale_ * value_scale_)};
  }
  double samples = 0;
  double sum = 0;
  for (std::size_t value = 0; value < channel.counts.size(); ++value) {
    samples += static_cast<double>(channel.counts[value]);
    sum += static_cast<double>(channel.counts[value]) * static_cast<double>(value) / value_scale_;
  }
  if (samples == 0) return {};
  const double mean = sum / samples;
  double squares = 0;
  for (std::size_t value = 0; value < channel.counts.size(); ++value) {
    const double difference = static_cast<double>(value) / value_scale_ - mean;
    squares += static_cast<double>(channel.counts[value]) * difference * difference;
  }
  return {mean, squares / samples};
}

std::vector<double> ChannelMoments::mean() const {
  std::vector<double> means;
  for (const Channel& channel : channels_) means.push_back(of(channel).mean);
  return means;
}

std::vector<double> ChannelMoments::deviation() const {
  std::vector<double> deviations;
  for (const Channel& channel : channels_) {
    const double variance = of(channel).variance;
    deviations.push_back(variance > 0 ? std::sqrt(variance) : 1);
  }
  return deviations;
}

}  // namespace skyline::store
