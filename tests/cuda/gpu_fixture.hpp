#pragma once

#include "train/loading/load_accelerator.hpp"

#include <memory>
#include <string>

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

namespace skyline::train::test {

/// Tests that need a GPU: without one each of them fails, with the reason. They use the library as the
/// program does, and LibTorch for all else.
class OnTheGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    accelerator_ = load_accelerator(reason);
    ASSERT_NE(accelerator_, nullptr) << reason;
    stream_ = accelerator_->make_stream(0);
  }

  Accelerator& accelerator() const { return *accelerator_; }
  AcceleratorStream& stream() const { return *stream_; }

  at::TensorOptions floats() const { return at::TensorOptions(at::kFloat).device(device()); }
  c10::Device device() const { return c10::Device(accelerator_->devices().front().target); }

  /// Made in the stream, and complete.
  template <typename Make>
  at::Tensor made(const Make& make) const {
    at::Tensor tensor;
    stream_->run([&] { tensor = make(); });
    stream_->wait();
    return tensor;
  }
  at::Tensor on_device(const at::Tensor& host) const {
    return made([&] { return host.to(device()); });
  }
  at::Tensor on_host(const at::Tensor& tensor) const {
    stream_->wait();
    return made([&] { return tensor.cpu(); });
  }
  std::size_t reserved_bytes() const { return accelerator_->memory(0).reserved_bytes; }

 private:
  std::shared_ptr<Accelerator> accelerator_;
  std::unique_ptr<AcceleratorStream> stream_;
};

}  // namespace skyline::train::test
