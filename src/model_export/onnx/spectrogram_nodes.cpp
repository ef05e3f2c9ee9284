// The spectrogram of a sound, computed in float64 like `skyline.prep` does (python/skyline/prep/log_mel.py):
// in float32 quiet bands beside loud ones would differ in the third digit.
#include "model_export/onnx/onnx_model_builder.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace skyline::model_export {
namespace {

constexpr double kFloor = 1e-6;  // added to energies before the logarithm

/// Returns the weights of the samples of a frame, and zeros up to the length of the transform.
std::vector<double> frame_weights(const store::LogMel& of) {
  std::vector<double> weights(static_cast<std::size_t>(of.fft));
  for (std::int64_t n = 0; n < of.window; ++n) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(of.window);
    weights[static_cast<std::size_t>(n)] = 0.5 - 0.5 * std::cos(turn);
  }
  return weights;
}

/// Returns the weights of frequencies in bands, [fft / 2 + 1, bands]: triangles over Hz.
std::vector<double> band_weights(const store::LogMel& of) {
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(of.low);
  const double step = (mel(of.high) - low) / static_cast<double>(of.bands + 1);
  const auto corner = [&](std::int64_t place) {
    return 700 * (std::pow(10, (low + static_cast<double>(place) * step) / 2595) - 1);
  };
  std::vector<double> weights;
  for (std::int64_t k = 0; k <= of.fft / 2; ++k) {
    const double hertz = static_cast<double>(k) * static_cast<double>(of.rate) / static_cast<double>(of.fft);
    for (std::int64_t band = 0; band < of.bands; ++band) {
      const double middle = corner(band + 1);
      const double rising = (hertz - corner(band)) / (middle - corner(band));
      const double falling = (corner(band + 2) - hertz) / (corner(band + 2) - middle);
      weights.push_back(std::max(std::min(rising, falling), 0.0));
    }
  }
  return weights;
}

}  // namespace

std::string OnnxModelBuilder::spectrogram(const std::string& input, const store::LogMel& of) {
  begin("spectrogram");
  const auto numbers = [&](const std::vector<std::int64_t>& dims, std::vector<double> values) {
    return constant("constant", dims, std::move(values));
  };
  const auto number = [&](std::int64_t value) { return constant("integer", {}, std::vector{value}); };
  std::string sound = node("Cast", {input}, {{"to", std::int64_t{kFloat64}}});
  // STFT takes frames as long as its transform: zeros in the weights, and after the sound, make up for that.
  if (of.fft > of.window) sound = node("Pad", {sound, integers({0, 0, 0, of.fft - of.window})}, {});
  sound = node("Unsqueeze", {sound, integers({2})}, {});
  const std::string weights = numbers({of.fft}, frame_weights(of));
  const std::string frames = node("STFT", {sound, number(of.hop), weights}, {{"onesided", std::int64_t{1}}});
  const std::string squares = node("Mul", {frames, frames}, {});
  const std::string power = node("ReduceSum", {squares, integers({3})}, {{"keepdims", std::int64_t{0}}});
  const std::string energy =
      node("MatMul", {power, numbers({of.fft / 2 + 1, of.bands}, band_weights(of))}, {});
  const std::string logarithm = node("Log", {node("Add", {energy, numbers({}, {kFloor})}, {})}, {});
  const std::string bands = node("Transpose", {logarithm}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  return node("Unsqueeze", {node("Cast", {bands}, {{"to", std::int64_t{kFloat32}}}), integers({1})}, {});
}

}  // namespace skyline::model_export
