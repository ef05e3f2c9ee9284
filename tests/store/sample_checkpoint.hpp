#pragma once

#include "sample_run.hpp"
#include "store/weights/checkpoint.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace skyline::testing {

inline trial::Trial sample_trial() {
  trial::Trial trial = sample_trials(sample_space(), 3)[2].trial;  // that inherits
  trial.number = 17;
  return trial;
}

inline std::string sample_provenance(const trial::Trial& trial = sample_trial()) {
  return store::provenance(trial, {"0.1.0", std::string(64, 'c')});
}

/// Half trained, with values that are hard to write; an empty array; names in an order that is not the
/// alphabet's.
inline store::TrialCheckpoint sample_checkpoint(std::int64_t step = 1200) {
  const double quiet = std::bit_cast<double>(std::uint64_t{0x7ff8000000000123u});  // NaN with a payload
  store::TrialCheckpoint checkpoint;
  checkpoint.trial = {17};
  checkpoint.provenance = sample_provenance();
  checkpoint.state.step = step;
  checkpoint.state.arrays = {
      {"parameters", {1, -2, 0.5f, 1e-45f, 3e38f, -0.0f}},
      {"momentum", {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}},
      {"buffers", {}}};
  checkpoint.state.numbers = {{"loss_sum", 0.1},    {"best", -std::numeric_limits<double>::infinity()},
                              {"denormal", 5e-324}, {"largest", 1.7976931348623157e308},
                              {"Größe", quiet},     {"zero", -0.0}};
  return checkpoint;
}

/// Equal in every bit.
inline bool same_state(const trial::TrainingState& left, const trial::TrainingState& right) {
  const auto same_array = [](const auto& a, const auto& b) {
    return a.name == b.name &&
           std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                      [](float x, float y) {
                        return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
                      });
  };
  const auto same_value = [](const auto& a, const auto& b) {
    return a.name == b.name && std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
  };
  return left.step == right.step &&
         std::equal(left.arrays.begin(), left.arrays.end(), right.arrays.begin(), right.arrays.end(),
                    same_array) &&
         std::equal(left.numbers.begin(), left.numbers.end(), right.numbers.begin(), right.numbers.end(),
                    same_value);
}

inline bool same_checkpoint(const store::TrialCheckpoint& left, const store::TrialCheckpoint& right) {
  return left.trial == right.trial && left.provenance == right.provenance &&
         same_state(left.state, right.state);
}

}  // namespace skyline::testing
