#include "train/parameters/filter_order.hpp"

#include <gmock/gmock.h>

namespace skyline::train {
namespace {

using ::testing::ElementsAre;

TEST(FilterOrder, PutsEachPixelsInputsTogether) {
  // One number, then a filter of 2 outputs, 2 inputs and 3 pixels, then another number.
  std::vector<float> values{-1, 0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112, -2};
  const std::vector<FilterPlace> filters{{1, 2, 2, 3}};
  put_in_channels_last(values, filters);
  EXPECT_THAT(values, ElementsAre(-1, 0, 10, 1, 11, 2, 12, 100, 110, 101, 111, 102, 112, -2));
}

TEST(FilterOrder, PutsBackWhatItReordered) {
  const std::vector<float> before{0, 1, 2, 10, 11, 12, 5, 6, 7, 8};
  const std::vector<FilterPlace> filters{{0, 1, 2, 3}, {6, 2, 1, 2}};
  std::vector<float> values = before;
  put_in_channels_last(values, filters);
  EXPECT_NE(values, before);
  put_in_planes(values, filters);
  EXPECT_EQ(values, before);
}

}  // namespace
}  // namespace skyline::train
