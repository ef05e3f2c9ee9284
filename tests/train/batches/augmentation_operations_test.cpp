// TrivialAugment and the changes of signals: each beside its definition.
#include "train/batches/batch_source.hpp"
#include "train/fixtures/train_fixtures.hpp"
#include "train/kernels/gather.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <ranges>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using kernels::kOneFactor;

constexpr std::int32_t kSide = 9;

/// A grey image without symmetry.
std::vector<std::uint8_t> image() {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) pixels.push_back(static_cast<std::uint8_t>(20 * x + 7 * y + 3));
  }
  return pixels;
}

kernels::AugmentPlan plan_of(const AugmentOptions& options) {
  kernels::AugmentPlan plan = augment_plan(options, test::BarImages({1, kSide, kSide}, 3, 12, 3));
  plan.mean_grey = 90;
  return plan;
}

std::vector<int> changed(const kernels::AugmentPlan& plan, const kernels::ImageDraw& draw) {
  const std::vector<std::uint8_t> pixels = image();
  std::vector<int> result;
  for (std::int32_t i = 0; i < kSide * kSide; ++i) {
    result.push_back(kernels::changed_pixel(plan, draw, pixels.data(), 0, i / kSide, i % kSide));
  }
  return result;
}

std::vector<int> drawn_with(const kernels::TrivialDraw& operation) {
  const kernels::AugmentPlan plan = plan_of({.trivial = 1});
  kernels::ImageDraw draw;
  draw.brightness = operation.brightness;
  draw.contrast = operation.contrast;
  draw.trivial = operation;
  return changed(plan, draw);
}

/// The image by a function of each place and the stored pixels, in floating point.
template <typename Pixel>
void expect_by_definition(const std::vector<int>& result, int tolerance, const Pixel& pixel) {
  const std::vector<std::uint8_t> stored = image();
  const auto at = [&](int y, int x) {
    return y < 0 || y >= kSide || x < 0 || x >= kSide ? 0
                                                      : int{stored[static_cast<std::size_t>(y * kSide + x)]};
  };
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      EXPECT_NEAR(result[static_cast<std::size_t>(y * kSide + x)], pixel(y, x, at), tolerance)
          << "row " << y << ", column " << x;
    }
  }
}

TEST(TrivialAugment, TurnsAndShearsAroundTheCentre) {
  const double angle = 40 * std::numbers::pi / 180;
  const auto part = [](double factor) { return static_cast<std::int32_t>(std::lround(factor * 65536)); };
  kernels::TrivialDraw turn{.moves = true, .xx = part(std::cos(angle)), .xy = part(std::sin(angle))};
  turn.yx = -turn.xy;
  turn.yy = turn.xx;
  const auto nearest = [](double place) { return static_cast<int>(std::floor(place + 4.5)); };
  expect_by_definition(drawn_with(turn), 0, [&](int y, int x, auto at) {
    const double right = std::cos(angle) * (x - 4) + std::sin(angle) * (y - 4);
    const double down = -std::sin(angle) * (x - 4) + std::cos(angle) * (y - 4);
    return at(nearest(down), nearest(right));
  });
  expect_by_definition(drawn_with({.moves = true, .xy = part(0.7)}), 0,
                       [&](int y, int x, auto at) { return at(y, nearest(x - 4 + 0.7 * (y - 4))); });
  expect_by_definition(drawn_with({.moves = true, .right = 2, .down = -3}), 0,
                       [](int y, int x, auto at) { return at(y - 3, x + 2); });
}

TEST(TrivialAugment, RecodesPixels) {
  expect_by_definition(drawn_with({.lost_bits = 4}), 0,
                       [](int y, int x, auto at) { return at(y, x) / 16 * 16; });
  expect_by_definition(drawn_with({.inverted = 100}), 0,
                       [](int y, int x, auto at) { return at(y, x) >= 100 ? 255 - at(y, x) : at(y, x); });
  expect_by_definition(drawn_with({.brightness = kOneFactor * 3 / 2}), 1,
                       [](int y, int x, auto at) { return std::min(255.0, 1.5 * at(y, x)); });
  expect_by_definition(drawn_with({.contrast = kOneFactor / 2}), 1,
                       [](int y, int x, auto at) { return 90 + 0.5 * (at(y, x) - 90); });
}

TEST(TrivialAugment, SharpensAgainstTheMeanOfNeighboursAndLeavesTheRim) {
  expect_by_definition(drawn_with({.sharpness = kOneFactor / 4}), 1, [](int y, int x, auto at) -> double {
    if (y == 0 || x == 0 || y == kSide - 1 || x == kSide - 1) return at(y, x);
    double smooth = 4 * at(y, x);
    for (int i = 0; i < 9; ++i) smooth += at(y - 1 + i / 3, x - 1 + i % 3);
    return smooth / 13 + 0.25 * (at(y, x) - smooth / 13);
  });
}

/// An image of 48 x 48 pixels changed by the histograms of its channels.
/// @param brightest  largest pixel value of the data set
std::vector<int> by_histogram(kernels::TrivialOperation operation, const std::vector<std::uint8_t>& pixels,
                              std::int32_t channels, const kernels::ImageDraw& moves = {},
                              std::int32_t brightest = 255) {
  constexpr std::int32_t kLength = 48;
  kernels::GatherPlan plan;
  plan.augment = plan_of({.trivial = 1});
  plan.augment.height = plan.augment.width = kLength;
  plan.augment.brightest = brightest;
  plan.augment.is_grey = channels == 1;
  plan.channels = channels;
  kernels::GatheredImage gathered{.stored = pixels.data(), .draw = moves};
  gathered.draw.trivial.by_histogram = operation;
  kernels::Curves curves;
  find_curves(plan, gathered, curves);
  std::vector<int> result;
  for (std::int32_t i = 0; i < channels * kLength * kLength; ++i) {
    const std::int32_t place = i % (kLength * kLength);
    result.push_back(kernels::changed_pixel(plan.augment, gathered.draw, pixels.data(),
                                            i / (kLength * kLength), place / kLength, place % kLength));
  }
  return result;
}

/// Pixels from 40 to 199, each as (column squared + 3 times row) modulo 160; a second channel has half of
/// them.
std::vector<std::uint8_t> uneven_image(std::int32_t channels) {
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < channels * 48 * 48; ++i) {
    const int y = i / 48 % 48;
    pixels.push_back(
        static_cast<std::uint8_t>((((i % 48) * (i % 48) + 3 * y) % 160 + 40) / (1 + i / (48 * 48))));
  }
  return pixels;
}

TEST(TrivialAugment, StretchesContrastAndEqualizesAsPillowDoes) {
  // What autocontrast and equalize of Pillow's ImageOps, version 13.0.0, make of the values 40, 49, ..., 193.
  const std::vector<int> stretched{0,   14,  28,  43,  57,  72,  86,  101, 115,
                                   129, 144, 158, 173, 187, 202, 216, 230, 245};
  const std::vector<int> equalized{0,   16,  32,  48,  63,  80,  97,  114, 131,
                                   146, 162, 178, 195, 211, 228, 245, 255, 255};
  const std::vector<std::uint8_t> pixels = uneven_image(1);
  const std::vector<int> contrast = by_histogram(kernels::TrivialOperation::kAutoContrast, pixels, 1);
  const std::vector<int> equal = by_histogram(kernels::TrivialOperation::kEqualize, pixels, 1);
  std::size_t compared = 0;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if ((pixels[i] - 40) % 9 != 0) continue;
    const auto place = static_cast<std::size_t>((pixels[i] - 40) / 9);
    EXPECT_NEAR(contrast[i], stretched[place], 1);
    EXPECT_EQ(equal[i], equalized[place]);
    ++compared;
  }
  EXPECT_GT(compared, 200U);
}

TEST(TrivialAugment, ChangesEachChannelByTheHistogramOfWhatIsShown) {
  using Operation = kernels::TrivialOperation;
  const std::vector<std::uint8_t> pixels = uneven_image(3);
  const std::vector<int> channels = by_histogram(Operation::kAutoContrast, pixels, 3);
  for (int channel = 0; channel < 3; ++channel) {
    const auto begin = channels.begin() + channel * 48 * 48;
    EXPECT_EQ(*std::min_element(begin, begin + 48 * 48), 0);
    EXPECT_EQ(*std::max_element(begin, begin + 48 * 48), 255);
  }
  const std::vector<std::uint8_t> grey = uneven_image(1);
  const std::vector<int> cropped = by_histogram(Operation::kAutoContrast, grey, 1, {.down = 1});
  for (std::size_t i = 0; i < cropped.size(); ++i) {  // the border is the darkest now
    const int shown = i < 47 * 48 ? grey[i + 48] : 0;
    EXPECT_EQ(cropped[i], shown * 255 / 199);
  }
  const std::vector<std::uint8_t> constant(48 * 48, 9);
  for (const Operation operation : {Operation::kAutoContrast, Operation::kEqualize})
    EXPECT_THAT(by_histogram(operation, constant, 1), ::testing::Each(9));
  std::vector<std::uint8_t> digits(48 * 48, 4);
  std::ranges::fill(digits | std::views::take(1000), std::uint8_t{8});
  EXPECT_THAT(by_histogram(Operation::kAutoContrast, digits, 1, {}, 16),
              ::testing::Each(::testing::AnyOf(0, 16)));
}

TEST(TrivialAugment, DrawsEachOperationAndStrengthEquallyOften) {
  const kernels::AugmentPlan plan = plan_of({.trivial = 1, .trivial_operations = 14});
  std::set<std::vector<int>> different;
  int moved = 0;
  int brightened = 0;
  int by_histogram = 0;
  std::map<std::int32_t, int> brightness;
  for (std::uint64_t seed = 0; seed < 14'000; ++seed) {
    const kernels::ImageDraw draw = kernels::draw_image(plan, first_image_seed(1, 0) + seed);
    different.insert(changed(plan, draw));
    moved += draw.trivial.moves ? 1 : 0;
    by_histogram += draw.trivial.by_histogram != kernels::TrivialOperation::kNone ? 1 : 0;
    if (draw.brightness == kOneFactor) continue;
    ++brightened;
    ++brightness[draw.brightness];
  }
  EXPECT_GT(different.size(), 200U);
  EXPECT_NEAR(moved, 5000, 250);
  EXPECT_NEAR(by_histogram, 2000, 200);
  EXPECT_NEAR(brightened, 1000 * 30 / 31, 150);
  EXPECT_EQ(brightness.size(), 60U);
  EXPECT_EQ(brightness.begin()->first, kOneFactor - kOneFactor * 99 / 100);
}

TEST(TrivialAugment, OfOlderRunsDrawsWhatItDrew) {
  const kernels::AugmentPlan plan = plan_of({.trivial = 1});
  std::string moves;
  int moved = 0;
  for (std::uint64_t seed = 0; seed < 12'000; ++seed) {
    const kernels::TrivialDraw draw = kernels::draw_image(plan, first_image_seed(1, 0) + seed).trivial;
    EXPECT_EQ(draw.by_histogram, kernels::TrivialOperation::kNone);
    moved += draw.moves ? 1 : 0;
    if (seed < 40) moves += draw.moves ? '1' : '0';
  }
  EXPECT_NEAR(moved, 5000, 250);
  EXPECT_EQ(
      moves,
      "1001100100010001100010101100100000010101");  // the version that had no more operations drew these
}

TEST(TrivialAugment, OfSmallStrengthChangesLittleAndLeavesOtherDrawsAlone) {
  const kernels::AugmentPlan weak = plan_of({.crop = 2, .flip = true, .trivial = 0.1});
  const kernels::AugmentPlan none = plan_of({.crop = 2, .flip = true});
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const kernels::ImageDraw draw = kernels::draw_image(weak, seed);
    EXPECT_NEAR(draw.brightness, kOneFactor, 410);
    EXPECT_LE(std::abs(draw.trivial.right), 1);
    EXPECT_EQ(draw.down, kernels::draw_image(none, seed).down);
    EXPECT_EQ(draw.mirrored, kernels::draw_image(none, seed).mirrored);
  }
}

/// Signals of two channels and 3 x 40 numbers, each another one, whose means are 0.
class Signals : public ::testing::Test {
 protected:
  static constexpr std::int32_t kRows = 3;
  static constexpr std::int32_t kColumns = 40;

  Signals() : numbers(2 * kRows * kColumns) { std::iota(numbers.begin(), numbers.end(), 1.0F); }

  /// The values of the signal at a place of the epoch.
  std::vector<float> at(const kernels::SignalPlan& changes, std::int64_t place) const {
    const std::int64_t order[] = {0, 0, 0, 0};
    const float scaling[] = {0, 1, 0, 1};
    const std::int64_t seed = 5;
    kernels::GatherPlan plan{.numbers = numbers.data(),
                             .order = order,
                             .position = &place,
                             .scaling = scaling,
                             .seed = &seed,
                             .augment = {.height = kRows, .width = kColumns, .signal = changes},
                             .mix = {},
                             .channels = 2};
    const kernels::GatheredRow found = kernels::find_row(plan, 0);
    std::vector<float> values;
    for (std::int32_t c = 0; c < 2; ++c) {
      for (std::int32_t i = 0; i < kRows * kColumns; ++i) {
        values.push_back(kernels::gathered_value(plan, found, c, i / kColumns, i % kColumns));
      }
    }
    return values;
  }

  std::vector<float> numbers;
};

TEST_F(Signals, MoveInTimeAndRepeatTheirEnds) {
  const std::vector<float> moved = at({.time_shift = 12}, 1);
  const float shift = moved[20] - numbers[20];
  EXPECT_NE(shift, 0);
  EXPECT_LE(std::abs(shift), 12);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const float first = numbers[i / kColumns * kColumns];
    EXPECT_EQ(moved[i], std::clamp(numbers[i] + shift, first, first + kColumns - 1));
  }
}

TEST_F(Signals, AreMaskedInTimeAndFrequencyInAllChannels) {
  std::set<std::size_t> sizes;
  for (const std::int64_t place : {0, 1, 2, 3}) {
    const std::vector<float> masked = at({.time_mask = 10, .frequency_mask = 2}, place);
    std::set<std::size_t> columns;
    std::set<std::size_t> rows;
    for (std::size_t x = 0; x < kColumns; ++x) {
      const auto is_zero = [&](std::size_t i) { return masked[i * kColumns + x] == 0; };
      if (is_zero(0) && is_zero(1) && is_zero(2) && is_zero(3) && is_zero(4) && is_zero(5)) columns.insert(x);
    }
    for (std::size_t i = 0; i < 6; ++i) {
      const auto row = std::span(masked).subspan(i * kColumns, kColumns);
      if (std::ranges::all_of(row, [](float value) { return value == 0; })) rows.insert(i % kRows);
    }
    EXPECT_LE(columns.size(), 10U);
    EXPECT_LE(rows.size(), 2U);
    if (!columns.empty()) {
      EXPECT_EQ(*columns.rbegin() - *columns.begin() + 1, columns.size());
    }
    for (std::size_t i = 0; i < masked.size(); ++i) {
      const bool kept = !columns.contains(i % kColumns) && !rows.contains(i / kColumns % kRows);
      EXPECT_EQ(masked[i], kept ? numbers[i] : 0.0F);
    }
    sizes.insert(10 * columns.size() + rows.size());
  }
  EXPECT_GT(sizes.size(), 1U);
}

TEST_F(Signals, GetNoiseOfTheDeviationThatIsDrawn) {
  const kernels::SignalDraw draw{.noise = 0.5F, .noise_seed = 17};
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const auto noise = static_cast<double>(kernels::noise_at(draw, i));
    sum += noise;
    squares += noise * noise;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / kCount), 0.5, 0.01);
  const std::vector<float> once = at({.noise = 0.5F}, 1);
  EXPECT_EQ(at({.noise = 0.5F}, 1), once);
  EXPECT_NE(at({.noise = 0.5F}, 2), once);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(once[i], numbers[i], 0.5 * 3.5);
}

}  // namespace
}  // namespace skyline::train
