#include "train/evaluator/trial_failure.hpp"

#include "skyline/core/error.hpp"

#include <string>

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

using trial::FailureKind;

FailureKind kind_of(const std::string& text) {
  try {
    TORCH_CHECK(false, text);
  } catch (...) {
    return current_failure().kind;
  }
}

TEST(TrialFailure, knows_what_libraries_say_of_missing_memory) {
  for (const char* text :
       {"CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", "CUDA error: out of memory",
        "[enforce fail] DefaultCPUAllocator: can't allocate memory"}) {
    EXPECT_EQ(kind_of(text), FailureKind::kOutOfMemory) << text;
  }
}

TEST(TrialFailure, takes_other_errors_for_what_they_are) {
  EXPECT_EQ(kind_of("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED"), FailureKind::kException);
  EXPECT_EQ(kind_of("cuDNN error: CUDNN_STATUS_MAPPING_ERROR"), FailureKind::kException);
}

TEST(TrialFailure, hears_of_missing_memory_from_our_own_checks) {
  try {
    throw InternalError("cudaGraphLaunch: out of memory");
  } catch (...) {
    EXPECT_EQ(current_failure().kind, FailureKind::kOutOfMemory);
  }
}

}  // namespace
}  // namespace skyline::train
