#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline::store {

/// Mean and deviation of each channel, of values that arrive sample by sample.
class ChannelMoments {
 public:
  /// @param plane  number of values of a channel in a sample
  ChannelMoments(std::size_t channels, std::size_t plane, double value_scale);
  /// Counts the 256 possible values, so that the sums do not depend on the order of the samples.
  void add(std::span<const std::uint8_t> pixels);
  /// Sums distances from a channel's first value; they are 0 if the channel is constant.
  void add(std::span<const float> values);

  /// Returns the mean of values / value_scale for each channel.
  std::vector<double> mean() const;
  /// Returns the deviation for each channel, and 1 for a constant channel.
  std::vector<double> deviation() const;

 private:
  struct Channel {
    std::vector<std::uint64_t> counts;  // number of each pixel value, for pixels
    double first = 0;                   // first value, for floats
    std::uint64_t floats = 0;
    double sum = 0;      // sum of distances from `first`
    double squares = 0;  // sum of their squares
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
