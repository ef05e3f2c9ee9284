#include "train/fixtures/gather_batch.hpp"
#include "train/fixtures/train_fixtures.hpp"

#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using Image = std::vector<int>;

constexpr space::Shape kShape{2, 5, 6};

/// Every pixel has a value of its own, none is 0.
Image numbered() {
  Image image(static_cast<std::size_t>(kShape.elements()));
  std::iota(image.begin(), image.end(), 1);
  return image;
}

/// The image with `place` of (y, x) in each channel: the definition, pixel by pixel.
template <typename Place>
Image by_pixel(const Place& place) {
  const Image source = numbered();
  Image image;
  for (std::int64_t c = 0; c < kShape.channels; ++c) {
    for (std::int64_t y = 0; y < kShape.height; ++y) {
      for (std::int64_t x = 0; x < kShape.width; ++x) {
        const auto [from_y, from_x] = place(y, x);
        const bool inside = from_y >= 0 && from_y < kShape.height && from_x >= 0 && from_x < kShape.width;
        const std::int64_t index = (c * kShape.height + from_y) * kShape.width + from_x;
        image.push_back(inside ? source[static_cast<std::size_t>(index)] : 0);
      }
    }
  }
  return image;
}

std::pair<std::int64_t, std::int64_t> nowhere() {
  return {-1, -1};
}

Image changed(test::ImageChanger& augmentation) {
  const Image image = numbered();
  const std::vector<std::uint8_t> pixels(image.begin(), image.end());
  const std::uint8_t* result = augmentation.change(pixels.data());
  return {result, result + pixels.size()};
}

/// How often each image came out of `count` draws.
std::map<Image, int> outcomes(const AugmentOptions& options, int count) {
  test::ImageChanger augmentation(options, kShape, first_image_seed(1, 0));
  std::map<Image, int> found;
  for (int i = 0; i < count; ++i) ++found[changed(augmentation)];
  return found;
}

/// Each of `expected` has come out, about equally often, and nothing else.
void expect_uniform(const std::map<Image, int>& found, const std::set<Image>& expected, int count) {
  EXPECT_EQ(found.size(), expected.size());
  const double mean = static_cast<double>(count) / static_cast<double>(expected.size());
  for (const auto& [image, times] : found) {
    EXPECT_TRUE(expected.contains(image));
    EXPECT_NEAR(times, mean, 5 * std::sqrt(mean));
  }
}

TEST(Augmentation, CropsEveryWindowOfThePaddedImageEquallyOften) {
  std::set<Image> windows;
  for (std::int64_t down = -2; down <= 2; ++down) {
    for (std::int64_t right = -2; right <= 2; ++right) {
      windows.insert(
          by_pixel([&](std::int64_t y, std::int64_t x) { return std::pair(y + down, x + right); }));
    }
  }
  EXPECT_EQ(windows.size(), 25U);
  expect_uniform(outcomes({2, false, 0}, 10000), windows, 10000);
}

TEST(Augmentation, FlipsHalfOfTheImages) {
  const Image mirrored =
      by_pixel([](std::int64_t y, std::int64_t x) { return std::pair(y, kShape.width - 1 - x); });
  expect_uniform(outcomes({0, true, 0}, 2000), {numbered(), mirrored}, 2000);
}

TEST(Augmentation, CutsASquareOutAroundEveryPixelEquallyOften) {
  for (const std::int64_t side : {3, 4}) {
    std::set<Image> holes;
    for (std::int64_t centre_y = 0; centre_y < kShape.height; ++centre_y) {
      for (std::int64_t centre_x = 0; centre_x < kShape.width; ++centre_x) {
        const std::int64_t top = centre_y - side / 2;
        const std::int64_t left = centre_x - side / 2;
        holes.insert(by_pixel([&](std::int64_t y, std::int64_t x) {
          const bool hole = y >= top && y < top + side && x >= left && x < left + side;
          return hole ? nowhere() : std::pair(y, x);
        }));
      }
    }
    ASSERT_EQ(holes.size(), 30U);
    expect_uniform(outcomes({0, false, side}, 9000), holes, 9000);
  }
}

TEST(Augmentation, CropsThenFlipsThenCutsOut) {
  std::set<Image> possible;
  for (int code = 0; code < 3 * 3 * 2 * 30; ++code) {
    const std::int64_t down = code % 3 - 1;
    const std::int64_t right = code / 3 % 3 - 1;
    const bool mirror = code / 9 % 2 == 1;
    const std::int64_t hole_y = code / 18 % 5;
    const std::int64_t hole_x = code / 18 / 5;
    possible.insert(by_pixel([&](std::int64_t y, std::int64_t x) {
      if (y == hole_y && x == hole_x) return nowhere();
      return std::pair(y + down, (mirror ? kShape.width - 1 - x : x) + right);
    }));
  }
  const std::map<Image, int> found = outcomes({1, true, 1}, 5000);
  EXPECT_GT(found.size(), 300U);
  for (const auto& [image, times] : found) EXPECT_TRUE(possible.contains(image));
}

TEST(Augmentation, LeavesNothingOfAnImageThatTheWindowMisses) {
  const std::map<Image, int> found = outcomes({1000000, true, 1000000}, 20);
  EXPECT_EQ(found, (std::map<Image, int>{{Image(60, 0), 20}}));
}

TEST(Augmentation, DependsOnTrialSeedEpochAndPlaceAlone) {
  const auto drawn = [](std::uint64_t seed, std::uint64_t epoch, std::size_t first, int count) {
    test::ImageChanger augmentation({2, true, 2}, kShape, first_image_seed(seed, epoch) + first);
    std::vector<Image> images(static_cast<std::size_t>(count));
    std::generate(images.begin(), images.end(), [&] { return changed(augmentation); });
    return images;
  };
  const std::vector<Image> epoch = drawn(1, 0, 0, 8);
  EXPECT_EQ(drawn(1, 0, 5, 3), std::vector<Image>(epoch.begin() + 5, epoch.end()));
  EXPECT_NE(drawn(1, 1, 0, 8), epoch);
  EXPECT_NE(drawn(2, 0, 0, 8), epoch);
}

TEST(Augmentation, CutsTheSameSquareOutWhetherItFlipsOrNot) {
  const auto blank = [](bool flip) {
    test::ImageChanger augmentation({0, flip, 3}, kShape, first_image_seed(1, 0));
    std::vector<std::vector<bool>> places;
    for (int i = 0; i < 50; ++i) {
      const Image image = changed(augmentation);
      std::ranges::transform(image, std::back_inserter(places.emplace_back()),
                             [](int pixel) { return pixel == 0; });
    }
    return places;
  };
  EXPECT_EQ(blank(true), blank(false));
}

TEST(Augmentation, PadsWithTheNetworksInputForPixelZero) {
  const test::BarImages data({1, 8, 8}, 2, 4, 0);
  const ValueScaling scaling(data, Normalization::kStandard);
  const std::vector<std::int64_t> indices = {3, 1};
  test::ImageChanger augmentation({1000, false, 0}, data.shape(), first_image_seed(1, 0));
  const test::Batch batch = test::gather_batch(data, scaling, indices, &augmentation);
  const float* values = batch.images.const_data_ptr<float>();
  EXPECT_THAT(std::vector<float>(values, values + batch.images.numel()),
              ::testing::Each(scaling.tables().front()));
  EXPECT_NE(scaling.tables().front(), 0.0F);
  EXPECT_EQ(batch.labels, (std::vector<std::int32_t>{1, 1}));
}

}  // namespace
}  // namespace skyline::train
