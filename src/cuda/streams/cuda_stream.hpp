#pragma once

#include "cuda/streams/check_cuda.hpp"
#include "cuda/streams/graph_memory.hpp"
#include "train/device/accelerator.hpp"

#include <functional>
#include <memory>

#include <c10/cuda/CUDAStream.h>

namespace skyline::cuda {

/// A stream that only its slot uses. LibTorch's streams come from a pool of 32, so two slots might share one.
class CudaStream final : public train::AcceleratorStream {
 public:
  explicit CudaStream(int device);

  void run(const std::function<void()>& work) override;
  std::unique_ptr<train::AcceleratorGraph> capture(const std::function<void()>& work) override;
  void wait() override;

 private:
  std::unique_ptr<train::AcceleratorGraph> record(const std::function<void()>& work);

  c10::DeviceIndex device_;
  StreamHandle handle_;
  EventHandle done_;
  c10::cuda::CUDAStream stream_;
  GraphMemory graph_memory_;
};

}  // namespace skyline::cuda
