#include "train/load_accelerator.hpp"

#include <gmock/gmock.h>

namespace skyline::train {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

TEST(CudaLibrary, loads_far_enough_to_say_that_there_is_no_driver_or_device) {
  std::string reason;
  EXPECT_EQ(open_accelerator_library(CUDA_LIBRARY, reason), nullptr);
  EXPECT_THAT(reason,
              AnyOf(HasSubstr("CUDA driver version is insufficient"), HasSubstr("no CUDA-capable device")));
}

}  // namespace
}  // namespace skyline::train
