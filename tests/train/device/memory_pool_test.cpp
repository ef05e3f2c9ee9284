#include "train/device/memory_pool.hpp"

#include <new>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

namespace skyline::train {
namespace {

class MemoryPool : public ::testing::Test {
 protected:
  void SetUp() override {
    install_memory_pool();
    trim_memory_pool(0);
  }
  void TearDown() override { trim_memory_pool(0); }

  static at::Tensor tensor_of(std::int64_t floats) { return at::empty({floats}, at::kFloat); }
};

TEST_F(MemoryPool, GivesAFreedBlockToTheNextTensorOfItsSize) {
  at::Tensor first = tensor_of(100'000);
  const void* place = first.const_data_ptr();
  first.reset();
  EXPECT_GE(pooled_bytes(), 400'000U);
  const at::Tensor second = tensor_of(100'000);
  EXPECT_EQ(second.const_data_ptr(), place);
  EXPECT_EQ(pooled_bytes(), 0U);
}

TEST_F(MemoryPool, KeepsTensorsApartAndAligned) {
  std::vector<at::Tensor> tensors;
  for (std::int64_t floats = 1; floats < 3'000'000; floats = floats * 3 / 2 + 1) {
    tensors.push_back(tensor_of(floats));
    tensors.back().fill_(static_cast<double>(tensors.size()));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensors.back().const_data_ptr()) % 64, 0U);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto expected = static_cast<float>(i + 1);
    const float* values = tensors[i].const_data_ptr<float>();
    EXPECT_EQ(values[0], expected);
    EXPECT_EQ(values[tensors[i].numel() - 1], expected);
  }
}

TEST_F(MemoryPool, LeavesSmallTensorsToMalloc) {
  tensor_of(100).reset();
  EXPECT_EQ(pooled_bytes(), 0U);
}

TEST_F(MemoryPool, ReturnsMemoryDownToWhatMayBeKept) {
  std::vector<at::Tensor> tensors;
  for (int i = 0; i < 8; ++i) tensors.push_back(tensor_of(1'000'000));
  tensors.clear();
  EXPECT_GE(pooled_bytes(), 32'000'000U);
  trim_memory_pool(10'000'000);
  EXPECT_LE(pooled_bytes(), 10'000'000U);
  trim_memory_pool(0);
  EXPECT_EQ(pooled_bytes(), 0U);
}

TEST_F(MemoryPool, TakesBackTensorsThatOutliveTheirThread) {
  at::Tensor survivor;
  std::thread([&] { survivor = tensor_of(100'000); }).join();
  survivor.fill_(1.0);
  survivor.reset();
  EXPECT_GE(pooled_bytes(), 400'000U);
}

TEST_F(MemoryPool, AnswersAnImpossibleSizeWithBadAlloc) {
  EXPECT_THROW(tensor_of(std::int64_t{1} << 58), std::bad_alloc);
}

}  // namespace
}  // namespace skyline::train
