#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline::store {

/// Mean and deviation of each channel, of values that come sample by sample.
class ChannelMoments {
 public:
  /// @param plane  values of a channel in a sample
  ChannelMoments(std::size_t channels, std::size_t plane, double value_scale);
  /// Counts the 256 values, so that the sums do not depend on the order of the samples.
  void add(std::span<const std::uint8_t> pixels);
  /// Sums distances from a channel's first value, which are 0 where the channel is constant.
  void add(std::span<const float> values);

  /// Of all values / value_scale.
  std::vector<double> mean() const;
  /// 1 where a channel is constant.
  std::vector<double> deviation() const;

 private:
  struct Channel {
    std::vector<std::uint64_t> counts;  // of each pixel value, where there are pixels
    double first = 0;                   // of the floats
    std::uint64_t floats = 0;
    double sum = 0;      // of distances from the first float
    double squares = 0;  // of them
  };
  struct Moments {
    double mean = 0;
    double variance = 0;
  };
  Moments of(const Channel& channel) const;

  std::size_t plane_;
  double value_scale_;
  std::vector<Channel> channels_;
};

}  // namespace skyline::store
