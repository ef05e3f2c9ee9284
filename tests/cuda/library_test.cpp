#include "train/loading/load_accelerator.hpp"
#include "train/loading/load_training.hpp"

#include <cstdlib>

#include <ATen/Context.h>
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

TEST(CudaLibrary, brings_the_cuda_part_of_libtorch) {
  std::string reason;
  open_accelerator_library(CUDA_LIBRARY, reason);
  EXPECT_TRUE(at::globalContext().hasCuDNN());  // false for good if LibTorch looked before it was loaded
}

/// A search asks for LibTorch's version first. This is a separate suite, and so a process, because
/// LibTorch looks for its CUDA part once.
TEST(CudaLibraryAfterTheVersion, still_brings_the_cuda_part_of_libtorch) {
  EXPECT_NE(skyline_training_module()->torch_version(), "");
  std::string reason;
  open_accelerator_library(CUDA_LIBRARY, reason);
  EXPECT_TRUE(at::globalContext().hasCuDNN());
}

TEST(CudaLibrary, tells_the_versions_of_what_it_is_linked_to) {
  setenv("SKYLINE_CUDA_LIBRARY", CUDA_LIBRARY, 1);
  EXPECT_THAT(accelerator_versions(), testing::MatchesRegex("CUDA 13\\.[0-9]+, NCCL 2\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace skyline::train
