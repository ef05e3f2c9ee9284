#include "train/quantized/int8_numbers.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using space::Int8Grid;
using space::Int8Op;

TEST(Int8Grids, HoldZeroExactlyWhateverTheRange) {
  EXPECT_EQ(grid_of(0, 255), (Int8Grid{1, -128}));
  EXPECT_EQ(grid_of(3, 255), (Int8Grid{1, -128}));
  EXPECT_EQ(grid_of(-255, -3), (Int8Grid{1, 127}));
  EXPECT_EQ(grid_of(-127.5, 127.5), (Int8Grid{1, 0})) << "half to even";
  EXPECT_EQ(grid_of(-126.5, 128.5), (Int8Grid{1, -2})) << "half to even";
}

TEST(Int8Grids, OfNoRangeHaveAScale) {
  EXPECT_EQ(grid_of(0, 0), (Int8Grid{1, -128}));
  EXPECT_EQ(grid_of(0, 1e-43), (Int8Grid{1, -128})) << "a scale below the least normal number";
}

TEST(Int8Grids, KeepTheUnitsOfSensors) {
  EXPECT_FLOAT_EQ(grid_of(0, 0.02).scale, 0.02F / 255);
  EXPECT_FLOAT_EQ(grid_of(0, 101325).scale, 101325.0F / 255);
}

TEST(Int8Grids, OfBoundedFunctionsAreTheSameInEveryNetwork) {
  EXPECT_EQ(fixed_grid(Int8Op::kSigmoid), (Int8Grid{0x1p-8F, -128}));
  EXPECT_EQ(fixed_grid(Int8Op::kTanh), (Int8Grid{0x1p-7F, 0}));
  EXPECT_EQ(fixed_grid(Int8Op::kHardSwish), std::nullopt);
}

TEST(Int8Weights, HaveAScaleForEachOutput) {
  const space::Int8Weights made = quantized_weights({2, {1.27, -0.5, 12.7, 0.05}, {0.02, -0.3}}, {0.5F, 3});
  EXPECT_EQ(made.values, (std::vector<std::int8_t>{127, -50, 127, 0})) << "0.5 of a step is rounded to even";
  ASSERT_EQ(made.scales.size(), 2U);
  EXPECT_FLOAT_EQ(made.scales[0], 0.01F);
  EXPECT_FLOAT_EQ(made.scales[1], 0.1F);
  EXPECT_EQ(made.biases, (std::vector<std::int32_t>{4, -6}));
}

TEST(Int8Weights, OfADeadOutputAreZeroAndItsBiasStays) {
  const Int8Grid input{500, 0};  // on its steps the bias would be 0
  const space::Int8Weights made = quantized_weights({3, {0, 0, 1e-44, 0, 0, 0}, {2.5, -0.3, 0}}, input);
  EXPECT_EQ(made.values, std::vector<std::int8_t>(6, 0));
  EXPECT_FLOAT_EQ(static_cast<float>(made.biases[0]) * input.scale * made.scales[0], 2.5F);
  EXPECT_FLOAT_EQ(static_cast<float>(made.biases[1]) * input.scale * made.scales[1], -0.3F);
  EXPECT_EQ(made.biases[2], 0);
  EXPECT_EQ(made.scales[2], 1);
  EXPECT_TRUE(fits_float(made));
}

TEST(Int8Weights, WidenTheirScaleWhereABiasWouldNotFit) {
  const Int8Grid input{1e-6F, -128};
  const space::Int8Weights made = quantized_weights({1, {1e-3, -2e-3}, {-700}}, input);
  EXPECT_LE(std::abs(made.biases[0]), 1 << 30);
  EXPECT_NEAR(made.biases[0] * static_cast<double>(input.scale) * static_cast<double>(made.scales[0]), -700,
              1e-3);
  EXPECT_EQ(made.values, (std::vector<std::int8_t>{0, 0})) << "nothing beside such a bias";
}

TEST(Int8Weights, TakeShiftsOfTheirBiases) {
  space::Int8Weights made = quantized_weights({2, {1.27, 1.27}, {0, 0}}, {0.5F, 3});
  shift_biases(made, {0.5F, 3}, {0.05, -1e12});
  EXPECT_EQ(made.biases[0], 10);
  EXPECT_EQ(made.biases[1], -(1 << 30));
}

TEST(Int8Weights, KnowWhetherTheirSumsAreExactInFloat32) {
  space::Int8Weights made;
  made.values.assign(518, 127);
  made.scales = {1};
  made.biases = {0};
  EXPECT_TRUE(fits_float(made));
  made.biases = {1 << 23};
  EXPECT_FALSE(fits_float(made));
  made.values.assign(519, -127);
  made.biases = {0};
  EXPECT_FALSE(fits_float(made));
}

}  // namespace
}  // namespace skyline::train
